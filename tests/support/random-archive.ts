import type { Fact } from '@talkshelf/contract'
import type { SeededRandom } from '../../server/pictures/seeded-random.ts'
import type { TestArchive } from './harness.ts'
import { importClient } from './import-client.ts'
import { eventProfile, personProfile } from './profiles.ts'

// Fills an archive through its API with everything that real ones contain: drafts, facts, renames,
// merges, aliases, old slugs, takedowns. Two archives share names and titles, but no URL of a
// video.

const commonTitles = ['Welcome', 'Keynote', 'Lightning talks', 'Closing']
const speakers = [
  'Ann Example',
  'Bob Example',
  'Zoë Ågren',
  '山田 太郎',
  'Cy Example',
  'Di Example',
]
const tags = ['queues', 'c++', 'Rust', 'testing', 'naïve', 'web']
const languages = ['English', 'German', 'Japanese']

export interface FillOptions {
  /** A part of titles and URLs: another word for each archive. */
  readonly word: string
  readonly videos: number
}

/** Fills an archive with random content; the same seed makes the same content. */
export async function fillArchive(
  archive: TestArchive,
  random: SeededRandom,
  { word, videos }: FillOptions,
): Promise<void> {
  const { send } = importClient(archive, archive.admin)
  const some = <T>(from: readonly T[], limit: number) =>
    random.shuffled(from).slice(0, Math.floor(random.next() * (limit + 1)))
  const isChosen = (share: number) => random.next() < share
  const categories = ['Shared Days', `${word} Days`, `${word} Nights`]
  for (const title of categories)
    await send('POST', 'category', {
      title,
      description: `About *${word}*`,
      ...(isChosen(0.5) && {
        url: 'https://example.org/days',
        start_date: '2019-05-01',
        end_date: '2019-05-03',
      }),
      ...(isChosen(0.5) && { ...eventProfile, series: word }),
    })
  const names = [...speakers, `${word} Only`, `${word} Other`]
  const ids: number[] = []
  for (let number = 1; number <= videos; number++) {
    const { json } = await send('POST', 'video', {
      title: isChosen(0.3) ? random.pick(commonTitles) : `${word} talk ${number}`,
      category: random.pick(categories),
      language: random.pick(languages),
      state: isChosen(0.85) ? 1 : 2,
      speakers: some(names, 3),
      tags: some([...tags, `${word} tag`], 3),
      summary: isChosen(0.5) ? `Summary ${number}` : '',
      description: isChosen(0.5) ? 'One *two* <b>three</b>\n'.repeat(number) : '',
      duration: isChosen(0.5) ? number * 60 : null,
      recorded: isChosen(0.7) ? `20${10 + (number % 15)}-02-28` : null,
      source_url: `https://media.example.org/${word}/${number}`,
      ...(isChosen(0.3) && {
        video_mp4_url: `https://media.example.org/${word}/${number}.mp4`,
        video_mp4_length: number,
      }),
    })
    ids.push(json.id)
  }
  const facts: Fact[] = [
    { kind: 'media', url: 'https://media.example.org/1.mkv', type: 'mkv', size: 2 ** 40 },
    { kind: 'related', url: 'https://slides.example.org/1', label: 'Slides' },
    { kind: 'address', path: `video/7/${word}` },
    { kind: 'programme', position: 1 + word.length },
    { kind: 'said', source: 'somewhere', field: 'odd', value: { a: [1.5, null] } },
  ]
  for (const id of some(ids, 5)) await send('PUT', `video/${id}/facts`, { facts: some(facts, 4) })
  for (const id of some(ids, 5)) await send('PATCH', `video/${id}`, { whiteboard: `Edited ${id}` })
  const slugsOf = async (kind: string): Promise<string[]> =>
    (await send('GET', `${kind}?page_size=100`)).json.results.map(
      ({ slug }: { slug: string }) => slug,
    )
  for (const slug of (await slugsOf('speaker')).slice(0, 3))
    await send('PATCH', `speaker/${slug}`, { ...personProfile, description: `About ${word}` })
  for (const kind of ['speaker', 'tag', 'category']) {
    const [renamed, aliased, merged, into] = random.shuffled(await slugsOf(kind))
    const field = kind === 'category' ? 'title' : 'name'
    if (renamed) await send('PATCH', `${kind}/${renamed}`, { [field]: `${word} renamed ${kind}` })
    const aliases = [{ name: `${word} alias`, shown: true }, { name: `${word} hidden ${kind}` }]
    if (aliased) await send('PATCH', `${kind}/${aliased}`, { aliases })
    if (merged && into) await send('POST', `${kind}/${merged}/merge`, { into })
  }
  for (const id of random.shuffled(ids).slice(0, 2))
    await send('POST', `video/${id}/takedown`, { reason: `Asked by ${word}` })
}
