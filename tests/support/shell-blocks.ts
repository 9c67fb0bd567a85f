import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './harness.ts'

// The code blocks of the documents.

export interface CodeBlock {
  /** Path of the document in the repository. */
  readonly file: string
  readonly line: number
  /** What follows the fence: `sh` for commands to run, `text` for an outline of commands. */
  readonly language: string
  readonly text: string
}

/** README.md and the documents in docs/, without decisions. */
export const documents = ['README.md', ...globSync('docs/**/*.md', { cwd: root }).sort()].filter(
  (file) => !file.startsWith('docs/decisions/'),
)

/** Returns the code blocks of a document. */
export function codeBlocks(file: string): CodeBlock[] {
  const document = readFileSync(join(root, file), 'utf8')
  return [...document.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(
    ({ 1: language = '', 2: text = '', index }) => ({
      file,
      line: document.slice(0, index).split('\n').length,
      language,
      text,
    }),
  )
}

/** Returns the commands of a section of a document, without its subsections. */
export function commandsIn(file: string, title: string): string[] {
  const document = readFileSync(join(root, file), 'utf8')
  const [, section] = document.split(new RegExp(`^#+ ${title}\n`, 'm'))
  if (section === undefined) throw new Error(`${file} has no section ${title}`)
  // A comment in a block of commands begins like a title, too.
  const [own = ''] = section.split(/^##+ /m)
  return [...own.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}
