import type { Fact } from '@talkshelf/contract'
import { exampleCategories } from '../../server/demo/talks.ts'
import { call } from '../support/harness.ts'
import { setSourceState } from '../support/source-states.ts'
import type { EmptyArchive } from './archive.ts'

// An archive whose sources have been checked for two years. All talks are invented, and no host is
// asked.

const awayStates = ['private', 'gone', 'removed', 'private', 'closed'] as const

/** Adds talks at several operators, some of which have lost recordings. */
export async function fillAtRisk({ url, token, databaseUrl }: EmptyArchive): Promise<void> {
  const send = async (method: string, path: string, body: object) => {
    const { status, text, json } = await call(url, method, `/api/v2/${path}`, { body, token })
    if (status >= 300) throw new Error(text)
    return json
  }
  let number = 0
  // Screenshots are made where fonts for other scripts may be missing.
  const categories = exampleCategories.filter(({ title }) => /^\p{Script=Latin}/u.test(title))
  for (const [index, category] of categories.entries()) {
    await send('POST', 'category', category)
    for (let count = 5 + ((index * 7) % 26); count > 0; count--) {
      number++
      const [source_url, ...copies] = sourcesOf(number)
      const { id } = await send('POST', 'video', {
        ...{ title: `Talk ${number}`, category: category.title, language: 'English', state: 1 },
        source_url,
      })
      const facts: Fact[] = copies.map((copy) => ({
        kind: 'media',
        url: copy,
        type: '',
        size: null,
      }))
      if (facts.length > 0) await send('PUT', `video/${id}/facts`, { facts })
      for (const source of [source_url, ...copies])
        if (source !== undefined) await check(databaseUrl, source, number)
    }
  }
}

/** Returns the URLs of a talk: most are at one operator. */
function sourcesOf(number: number): string[] {
  const youtube = `https://www.youtube.com/watch?v=example${String(number).padStart(4, '0')}`
  if (number % 31 === 0) return []
  if (number % 8 === 0) return [youtube, `https://archive.org/details/example-${number}`]
  if (number % 11 === 0) return [`https://vimeo.com/${1000 + number}`]
  if (number % 13 === 0)
    return [
      `https://tube.example.net/w/${number}`,
      `https://archive.org/details/example-${number}`,
      `https://media.example.org/${number}.webm`,
    ]
  return number % 9 === 0 ? [`https://media.example.org/${number}.webm`] : [youtube]
}

/** Lets a source be there since 2024, or away since one of the months after that. */
async function check(databaseUrl: string, source: string, number: number): Promise<void> {
  const lastGood = '2024-11-01T00:00:00Z'
  await setSourceState(databaseUrl, source, 'ok', { since: lastGood, lastGood })
  const isAway = number % 7 === 3 && !source.includes('archive.org')
  if (!isAway) return
  const month = (number * 5) % 24
  const since = new Date(Date.UTC(2024, 11 + month, 10)).toISOString()
  const state = awayStates[number % awayStates.length] ?? 'gone'
  await setSourceState(databaseUrl, source, state, { since, lastGood })
  if (number % 6 === 0)
    await setSourceState(databaseUrl, source, 'ok', {
      since: new Date(Date.UTC(2024, 13 + month, 20)).toISOString(),
      lastGood,
    })
}
