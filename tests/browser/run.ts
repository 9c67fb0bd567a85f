// npm run browser -- [--url http://...] [--only word] [--talks file] [--every n]
//
// All pages in a real browser, on the real talks. --only takes the name of a part, or a word of the
// titles of tests, such as 'desk: merges'; --every 10 tries every tenth payload, and measures fewer talks.

import { parseArgs } from 'node:util'
import { addressTests } from './addresses.ts'
import { openBrowserArchive } from './archive.ts'
import { axeTests } from './axe.ts'
import { startChromium, startTally, type Tally, withoutPictures } from './chromium.ts'
import { deskTests } from './desk.ts'
import type { BrowserEnvironment } from './environment.ts'
import { keyTests } from './keys.ts'
import { linkTests } from './links.ts'
import { noScriptTests } from './no-script.ts'
import { pageTests } from './pages.ts'
import { preferenceTests } from './preferences.ts'
import { referenceTests } from './reference.ts'
import { runScript } from './script.ts'
import { searchTests } from './search.ts'
import { sizeTests } from './sizes.ts'
import { speakersTests } from './speakers.ts'
import { suggestTests } from './suggest.ts'
import { xssTests } from './xss.ts'

/** These open pages with pictures, whose loading takes most of the time. */
const partsWithPictures: Parts = { pages: pageTests, xss: xssTests }

const partsWithoutPictures: Parts = {
  search: searchTests,
  keys: keyTests,
  preferences: preferenceTests,
  addresses: addressTests,
  sizes: sizeTests,
  axe: axeTests,
  reference: referenceTests,
  'no-script': noScriptTests,
  desk: deskTests,
  speakers: speakersTests,
  suggest: suggestTests,
  links: linkTests,
  time: timeTests,
  scripts: scriptTests,
}

type Parts = Readonly<Record<string, (environment: BrowserEnvironment) => Promise<void>>>

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    only: { type: 'string' },
    talks: { type: 'string' },
    every: { type: 'string', default: '1' },
  },
})
process.exitCode = await main()

async function main(): Promise<number> {
  const { only } = values
  const names = [...Object.keys(partsWithPictures), ...Object.keys(partsWithoutPictures)]
  // Some titles begin with the name of their part.
  const onlyPart = names.find((name) => only === name || only?.startsWith(`${name}: `))
  // These start archives of their own.
  const hasOwn = ['desk', 'speakers', 'suggest', 'links'].includes(onlyPart ?? '')
  const archive = openBrowserArchive(hasOwn ? { url: '' } : values)
  const { test, end } = startTally(1_200_000)
  try {
    await archive.ready
    const chosen: Tally['test'] = async (title, run) => {
      if (only === undefined || only === onlyPart || title.includes(only)) await test(title, run)
    }
    const runParts = async (parts: Parts, ...chromiumArgs: string[]) => {
      const browser = await startChromium(...chromiumArgs)
      try {
        for (const [name, part] of Object.entries(parts))
          if (onlyPart === undefined || name === onlyPart)
            await part({ archive, browser, test: chosen, everyPayload: Number(values.every) })
      } finally {
        await browser.close()
      }
    }
    await runParts(partsWithPictures)
    await runParts(partsWithoutPictures, withoutPictures)
  } finally {
    await archive.stop()
  }
  return end() ? 0 : 1
}

/** Scripts with browsers of their own, which wait most of the time and so run side by side. */
async function scriptTests({ archive, test, everyPayload }: BrowserEnvironment): Promise<void> {
  const sample = everyPayload > 1 ? ['--sample', '12'] : []
  await Promise.all([
    test('the player: player.ts passes', () => runScript('player.ts')),
    test('watching the demo: demo.ts passes', () => runScript('demo.ts')),
    test('pages are within the limits of budget.ts', () =>
      runScript('budget.ts', '--url', archive.url, ...sample)),
  ])
}

function timeTests({ archive, test }: BrowserEnvironment): Promise<void> {
  return test('no page takes more than twice as long as its JSON', () =>
    runScript('../../bench/pages.ts', '--url', archive.url))
}
