// node tests/relevance/related.ts pick --url URL --file FILE [--talks 60] [--seed 1]
// node tests/relevance/related.ts score --file FILE JUDGED...
//
// Measures related talks by judgement. `pick` writes random talks of a running archive with their
// similar talks to FILE, one talk per line, a quarter of them not in English. The candidates are in
// the order of their ids, so that judges do not know their ranks, which are in FILE.ranks. A judge
// copies FILE and sets each verdict to relevant, partly or no, by title and description: would
// someone who has watched the talk, because of its subject, want to watch this one? `score` prints
// the precision of each copy, and how far two of them agree.

import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Video } from '@talkshelf/contract'
import { randomFrom } from '../../bench/records.ts'

interface JudgedTalk {
  readonly id: number
  readonly title: string
  readonly category: string
  readonly language: string
  readonly description: string
  readonly candidates: readonly {
    readonly id: number
    readonly title: string
    readonly category: string
    readonly description: string
    readonly verdict: string
  }[]
}

const verdicts = ['relevant', 'partly', 'no']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8000' },
    file: { type: 'string', default: 'related.ndjson' },
    talks: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
  },
})
const [command, ...judgedFiles] = positionals
if (command === 'pick') await pickTalks()
else if (command === 'score' && judgedFiles.length > 0) score()
else {
  console.error('Use pick or score; see the head of tests/relevance/related.ts')
  process.exitCode = 2
}

async function pickTalks(): Promise<void> {
  const random = randomFrom(Number(values.seed))
  const wanted = Number(values.talks)
  const otherLanguages = Math.ceil(wanted / 4)
  const left = { english: wanted - otherLanguages, other: otherLanguages }
  // Ids have gaps: there are more of them than talks.
  const { results } = await get<{ results: Video[] }>('video?page_size=100&ordering=-added')
  const maxId = Math.max(0, ...results.map(({ id }) => id))
  const talks: JudgedTalk[] = []
  const ranks: Record<string, number[]> = {}
  for (let tries = 0; tries < 200 * wanted && talks.length < wanted; tries++) {
    const video = await find(1 + Math.floor(random() * maxId))
    const group = video?.language === 'English' ? 'english' : 'other'
    if (!video || left[group] === 0 || ranks[video.id]) continue
    const { similar } = await get<{ similar: Video[] }>(`video/${video.id}/related`)
    left[group]--
    ranks[video.id] = similar.map(({ id }) => id)
    talks.push({
      ...described(video),
      language: video.language,
      candidates: similar
        .toSorted((a, b) => a.id - b.id)
        .map((candidate) => ({ ...described(candidate), verdict: '' })),
    })
  }
  writeFileSync(values.file, talks.map((talk) => `${JSON.stringify(talk)}\n`).join(''))
  writeFileSync(`${values.file}.ranks`, JSON.stringify(ranks))
  console.log(`Seed ${values.seed}: ${talks.length} talks in ${values.file}`)
}

async function get<T>(path: string): Promise<T> {
  const response = await fetch(`${values.url}/api/v2/${path}`)
  if (!response.ok) throw new Error(`${path}: status ${response.status}`)
  return (await response.json()) as T
}

/** Reads a record; undefined if there is no live one with this id. */
async function find(id: number): Promise<Video | undefined> {
  const response = await fetch(`${values.url}/api/v2/video/${id}`)
  return response.ok ? ((await response.json()) as Video) : undefined
}

/** Returns what a judge reads of a talk. */
function described({ id, title, category, summary, description, tags }: Video) {
  return {
    id,
    title,
    category,
    description: `${summary} ${description}`.trim().slice(0, 500),
    tags,
  }
}

function score(): void {
  const ranks = JSON.parse(readFileSync(`${values.file}.ranks`, 'utf8')) as Record<string, number[]>
  const judged = judgedFiles.map((file) => readJudgements(file))
  for (const [index, talks] of judged.entries()) {
    const groups = {
      all: talks,
      English: talks.filter(({ language }) => language === 'English'),
      'other languages': talks.filter(({ language }) => language !== 'English'),
    }
    for (const [name, group] of Object.entries(groups))
      console.log(
        `${judgedFiles[index]}, ${name}: ${group.length} talks, ` +
          [3, 6].map((places) => precision(group, ranks, places)).join('; '),
      )
  }
  const [first, second] = judged
  if (first && second) console.log(agreement(first, second))
}

function readJudgements(file: string): JudgedTalk[] {
  const talks = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as JudgedTalk)
  for (const { title, candidates } of talks)
    for (const { verdict } of candidates)
      if (!verdicts.includes(verdict)) throw new Error(`${file}: ${title}: verdict "${verdict}"`)
  return talks
}

/** An empty place counts as not relevant. */
function precision(
  talks: readonly JudgedTalk[],
  ranks: Readonly<Record<string, readonly number[]>>,
  places: number,
): string {
  const found = talks.flatMap(({ id, candidates }) => {
    const best = (ranks[id] ?? []).slice(0, places)
    return candidates.filter((candidate) => best.includes(candidate.id))
  })
  const share = (accepted: readonly string[]) => {
    const hits = found.filter(({ verdict }) => accepted.includes(verdict)).length
    return `${((100 * hits) / (places * talks.length)).toFixed(1)} %`
  }
  return `precision@${places} ${share(['relevant'])}, with partly ${share(['relevant', 'partly'])}`
}

/** Describes how far two judges agree: the share of equal verdicts, and Cohen's kappa. */
function agreement(first: readonly JudgedTalk[], second: readonly JudgedTalk[]): string {
  const verdictOf = new Map(
    second.flatMap(({ id, candidates }) =>
      candidates.map((candidate) => [`${id} ${candidate.id}`, candidate.verdict] as const),
    ),
  )
  const pairs = first.flatMap(({ id, candidates }) =>
    candidates.map((candidate) => [candidate.verdict, verdictOf.get(`${id} ${candidate.id}`)]),
  )
  const share = (matches: (pair: (string | undefined)[]) => boolean) =>
    pairs.filter(matches).length / pairs.length
  const equal = share(([one, other]) => one === other)
  const byChance = verdicts
    .map((verdict) => share(([one]) => one === verdict) * share(([, other]) => other === verdict))
    .reduce((a, b) => a + b, 0)
  const kappa = (equal - byChance) / (1 - byChance)
  const percent = (100 * equal).toFixed(1)
  return `Agreement on ${pairs.length} candidates: ${percent} %, kappa ${kappa.toFixed(2)}`
}
