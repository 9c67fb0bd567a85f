import type { Assigned, Assignment } from './assign.ts'
import { confidenceOf } from './confidence.ts'
import { type Band, likelyLimit, minUnsureScore, sureLimit } from './limits.ts'
import { nameFound } from './score.ts'
import type { PreparedEvent, TalkTitle } from './titles.ts'

// How much a pair can be relied on. No I/O.

/** Tells whether a pair is taken without asking. */
export function isSure(pair: Assigned): boolean {
  if (pair.vetoes.length > 0 || pair.margin < sureLimit.margin) return false
  return confidenceOf(pair) >= sureLimit.confidence
}

/** Sorts the pairs into bands. */
export function bandsOf(assignment: Assignment, event: PreparedEvent): Map<TalkTitle, Band> {
  const bands = new Map<TalkTitle, Band>()
  for (const [talk, pair] of assignment.pairs) bands.set(talk, bandOf(pair))
  for (const talk of findEliminated(assignment, bands, event)) bands.set(talk, 'likely')
  return bands
}

function bandOf(pair: Assigned): Band {
  if (isSure(pair)) return 'sure'
  const { score, margin, vetoes } = pair
  const isLikely =
    score >= likelyLimit.score && margin >= likelyLimit.margin && !vetoes.includes('other-year')
  if (isLikely) return 'likely'
  return score >= minUnsureScore ? 'unsure' : 'none'
}

/**
 * Finds talks whose speaker has no other talk left, and whose recording is the only one left that
 * names the speaker. They are likely, never sure: titles change on stage.
 */
function findEliminated(
  { pairs }: Assignment,
  bands: ReadonlyMap<TalkTitle, Band>,
  { talks, recordings, vocabulary }: PreparedEvent,
): TalkTitle[] {
  const isSettled = (talk: TalkTitle) => ['sure', 'likely'].includes(bands.get(talk) ?? 'none')
  const talksLeft = talks.filter((talk) => !isSettled(talk))
  const taken = new Set(
    [...pairs].flatMap(([talk, { recording }]) => (isSettled(talk) ? [recording] : [])),
  )
  const recordingsLeft = recordings.filter((recording) => !taken.has(recording))
  return talksLeft.filter((talk) => {
    const pair = pairs.get(talk)
    if (pair?.name !== 1 || pair.vetoes.includes('other-year')) return false
    return talk.names
      .filter((name) => name.length > 1)
      .some((name) => {
        const names = ({ title }: (typeof recordings)[number]) =>
          nameFound(name, title, vocabulary) === 1
        const isSame = (other: TalkTitle) =>
          other.names.some((words) => words.join(' ') === name.join(' '))
        return (
          names(pair.recording) &&
          recordingsLeft.filter(names).length === 1 &&
          talksLeft.filter(isSame).length === 1
        )
      })
  })
}
