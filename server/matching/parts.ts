import { assign } from './assign.ts'
import { compareTitles, findCandidates } from './candidates.ts'
import { type Chapter, readChapters } from './chapters.ts'
import type { Recording, ScheduledTalk } from './input.ts'
import { likelyLimit } from './limits.ts'
import { unknownStyle } from './playlist-style.ts'
import { prepareEvent } from './titles.ts'
import { titleFingerprint } from './words.ts'

// Proposes the talks that a recording contains: from the chapters of its description, from titles
// in the description, and their times from the schedule. A person decides. No I/O.

export interface ProposedPart {
  readonly talk: string
  readonly startSeconds: number | null
  readonly endSeconds: number | null
  /** Where it comes from: `slots` are times of the schedule, counted from the first talk. */
  readonly basis: 'chapters' | 'description' | 'slots'
}

/** A description may name one other talk, without a time. */
const minListed = 2
/** Shorter titles stand in a description by chance. */
const minTitleWords = 2
/** How much of a title a description must have to be compared with its chapters. */
const minShareOfWords = 0.5
const maxDescriptionLength = 50_000

/** Returns a function that proposes the parts of a recording; none if it names no talks. */
export function partsProposer(
  event: string,
  talks: readonly ScheduledTalk[],
): (recording: Recording) => ProposedPart[] {
  const titles = talks.map((talk) => {
    const fingerprint = titleFingerprint(talk.title)
    return { talk, fingerprint, words: new Set(fingerprint.split(' ')) }
  })
  return (recording) => {
    const description = recording.description ?? ''
    if (description === '') return []
    const lines = description.slice(0, maxDescriptionLength).split(/\r\n|[\n\r]/u)
    const text = lines.map((line) => ` ${titleFingerprint(line)} `).join('\n')
    const known = new Set(text.split(/\s+/))
    // Most descriptions have none of the titles: the slow comparison gets only those it may have.
    const near = titles.filter(({ words }) => {
      const found = [...words].filter((word) => known.has(word)).length
      return found >= words.size * minShareOfWords
    })
    const nearTalks = near.map(({ talk }) => talk)
    const fromChapters = partsOfChapters(event, nearTalks, recording, readChapters(description))
    if (fromChapters.length > 0) return fromChapters
    const listed = near
      .filter(({ words }) => words.size >= minTitleWords)
      .filter(({ fingerprint }) => text.includes(` ${fingerprint} `))
      .map(({ talk }) => talk)
    return listed.length >= minListed ? partsOfSlots(listed, recording) : []
  }
}

function partsOfChapters(
  event: string,
  talks: readonly ScheduledTalk[],
  { seconds }: Recording,
  chapters: readonly Chapter[],
): ProposedPart[] {
  if (chapters.length === 0 || talks.length === 0) return []
  // The keys break ties: talks with the same title follow each other as their chapters do.
  const keyOf = (index: number) => String(index).padStart(6, '0')
  const titles = chapters.map(({ title }, index) => ({ key: keyOf(index), title }))
  const numbered = talks.map((talk, index) => ({ ...talk, key: keyOf(index) }))
  const compared = compareTitles(prepareEvent(event, numbered, titles))
  const { pairs } = assign(findCandidates(compared, unknownStyle))
  return [...pairs.values()]
    .filter(({ score }) => score >= likelyLimit.score)
    .map(({ talk, recording }) => {
      const index = Number(recording.recording.key)
      const chapter = chapters[index] as Chapter
      const next = chapters[index + 1]?.startSeconds ?? seconds ?? null
      return {
        talk: talks[Number(talk.talk.key)]?.key ?? '',
        startSeconds: chapter.startSeconds,
        endSeconds: chapter.endSeconds ?? next,
        basis: 'chapters' as const,
      }
    })
    .sort((a, b) => a.startSeconds - b.startSeconds)
}

/** Takes the times of the schedule, if the talks follow each other in one room on one day. */
function partsOfSlots(talks: readonly ScheduledTalk[], { seconds }: Recording): ProposedPart[] {
  const sorted = talks.toSorted((a, b) => compareTexts(a.start ?? '', b.start ?? ''))
  const starts = sorted.map(({ start }) => Date.parse(`${start?.slice(0, 16)}Z`) / 1000)
  const [first = Number.NaN] = starts
  const last = (starts.at(-1) ?? Number.NaN) - first
  const places = new Set(sorted.map(({ start, room }) => `${start?.slice(0, 10)} ${room ?? ''}`))
  const fits = new Set(starts).size === starts.length && last < (seconds ?? 0)
  const hasTimes = places.size === 1 && !Number.isNaN(last) && fits
  if (!hasTimes)
    return sorted.map(({ key }) => ({
      talk: key,
      startSeconds: null,
      endSeconds: null,
      basis: 'description',
    }))
  return sorted.map(({ key, minutes }, index) => {
    const start = (starts[index] ?? first) - first
    const next = (starts[index + 1] ?? Number.POSITIVE_INFINITY) - first
    const planned = minutes == null ? next : start + 60 * minutes
    return {
      talk: key,
      startSeconds: start,
      endSeconds: Math.min(next, planned, seconds ?? Number.POSITIVE_INFINITY),
      basis: 'slots',
    }
  })
}

const compareTexts = (a: string, b: string) => (a < b ? -1 : Number(a > b))
