import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommand } from '../support/harness.ts'
import { codeBlocks, documents } from '../support/shell-blocks.ts'

// The commands and options of talkshelf in README.md and docs/ exist. Most of them are run by
// tests/api/document-commands.test.ts, those of the API reference by documents.test.ts.

const blocks = documents
  .flatMap(codeBlocks)
  // `text` has outlines of commands, with placeholders.
  .filter(({ language }) => language === 'sh' || language === 'text')

/** An invocation of talkshelf: at the start of a command, after variables, sudo or npx. */
const invocation =
  /(?:^|\$\(|&& |; )(?:\s*[A-Z_]+=\S+\s+)*(?:sudo (?:-\S+ \w+ )?)?(?:npx )?talkshelf ((?:[a-z-]+|--).*)$/gm

test('the commands and options of talkshelf in the documents exist', async (t) => {
  const helps = new Map<string, string>()
  const helpOf = async (path: string) => {
    const known = helps.get(path)
    if (known !== undefined) return known
    const { stdout } = await runCommand([...path.split(' ').filter(Boolean), '--help'], {})
    helps.set(path, stdout)
    return stdout
  }
  let count = 0
  for (const { file, line, text } of blocks)
    for (const [, rest = ''] of text.replaceAll(/\\\n/g, ' ').matchAll(invocation)) {
      // Without the comment, and without what other programs get.
      const words =
        rest
          .replace(/\s#.*$/, '')
          .split(/\s[;|&]|\)/)[0]
          ?.split(/\s+/) ?? []
      let path = ''
      for (const word of words) {
        if (!/^[a-z-]+$/.test(word)) break
        const commands = (await helpOf(path)).split('Commands:')[1] ?? ''
        if (!new RegExp(`^ {2}${word}\\b`, 'm').test(commands)) break
        path = `${path} ${word}`.trim()
      }
      const where = `${file}:${line}: talkshelf ${rest}`
      assert.ok(path !== '' || words[0]?.startsWith('--'), where)
      const help = await helpOf(path)
      // Of a group like `token`, one of its commands is needed.
      assert.ok(path === '' || !help.includes('Commands:'), where)
      for (const [option] of words.join(' ').matchAll(/(?<!\S|\[)--[a-z-]+|(?<=\[)--[a-z-]+/g))
        assert.match(help, new RegExp(`(^|\\s|, )${option}\\b`), where)
      count++
    }
  t.diagnostic(`${count} uses of ${helps.size} commands`)
  assert.ok(count >= 20, `only ${count} uses`)
})
