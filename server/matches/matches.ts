import { hash } from 'node:crypto'
import {
  invalidFields,
  isMatchQuestion,
  type Match,
  type MatchDecision,
  type MatchedRecording,
  type MatchedTalk,
  Problem,
} from '@talkshelf/contract'
import { LRUCache } from 'lru-cache'
import {
  beginImportOf,
  findLanguageError,
  findSourceStates,
  InputRefused,
} from '../imports/imports.ts'
import type { MatchInput } from '../matching/matching.ts'
import type { Origin } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { foldText } from '../platform/text/fold.ts'
import {
  askAgain,
  findReplaced,
  isReplaced,
  isValid,
  readDecision,
  titlesOf,
  toMatcherDecisions,
} from './decisions.ts'
import { matchKey, matchSource } from './join.ts'
import { openMatcher } from './matcher.ts'
import { isSettled, itemsToImport, type MatchState } from './plan.ts'
import {
  deleteMatch,
  findDecisions,
  findItems,
  findLastStep,
  findMatch,
  findPattern,
  findReplacedBy,
  insertDecision,
  insertItems,
  insertMatch,
  lockDecisions,
  type MatchRow,
  newStep,
  replaceDecisions,
  saveImport,
  savePattern,
  selectMatches,
  undoStep,
} from './queries.ts'
import { assertTwoSources, type MatchFile, readSide } from './read-files.ts'
import { findLeftOut, talksOf, toRecording, toScheduledTalk } from './sides.ts'

// The entry point of matches. Two files are read and stored as they are. The pairs are computed from
// them and the decisions (server/matching) whenever they are shown, so that nothing computed can be
// out of date. The result is planned as an import.
export { deleteOldMatches, deleteReplacedDecisions } from './queries.ts'
export type { MatchFile } from './read-files.ts'
export { replaceTitleHash } from './title-hash.ts'

export interface MatchFiles {
  readonly schedule: MatchFile
  readonly playlist: MatchFile
  /** The title of the event; default: that of the schedule. */
  readonly category?: string | undefined
  readonly language?: string | undefined
  /** Called when the schedule was read. */
  readonly onSchedule?: () => void
}

export interface Matches {
  /** Reads two files. Returns the id of the match. Throws `InputRefused`. */
  create(files: MatchFiles, origin: Origin): Promise<number>
  read(id: number): Promise<Match>
  /**
   * Saves decisions, which are undone at once. Throws `invalid-fields` if one is not about a talk or
   * recording of the match.
   */
  decide(id: number, decisions: readonly MatchDecision[], origin: Origin): Promise<void>
  /** Undoes the last decisions of a match. Throws `wrong-state` if there are none. */
  undo(id: number): Promise<void>
  /** Plans the import of a match. Returns the id of the import. */
  plan(id: number, origin: Origin): Promise<number>
  /** Deletes a match. What was decided stays. */
  discard(id: number): Promise<void>
}

const rowsPerInsert = 200
/** Results that are kept: most are read again after a decision about another talk. */
const maxCached = 8
const maxLeftOut = 100

/** Opens the matches of a process. */
export function openMatches(pool: Pool): Matches {
  const matcher = openMatcher()
  const results = new LRUCache<string, MatchState['result']>({ max: maxCached })

  const readState = async (id: number): Promise<MatchState & { input: MatchInput }> => {
    const { match, items, input } = await readInput(pool, id)
    const learned = await findPattern(pool, match.recording_source, seriesOf(match.event))
    const titles = titlesOf(input)
    const stored = await readDecisions(pool, match, input)
    const decisions = stored.filter((row) => isValid(row, titles))
    const lapsed = stored.filter((row) => !isValid(row, titles))
    const matched: MatchInput = {
      ...input,
      pattern: learned?.pattern ?? null,
      decisions: toMatcherDecisions(decisions),
    }
    const cacheKey = hash('sha256', JSON.stringify(matched), 'base64')
    const computed = results.get(cacheKey) ?? (await matcher(matched))
    results.set(cacheKey, computed)
    const result = { ...computed, talks: askAgain(computed.talks, lapsed) }
    return { match, items, decisions, input, result }
  }

  /** Adds to a copy the pair of its talk, if that was only found and not decided. */
  const withPairs = async (id: number, decisions: readonly MatchDecision[]) => {
    if (!decisions.some(({ verdict }) => verdict === 'copy')) return decisions
    const { result } = await readState(id)
    return decisions.flatMap((decision): MatchDecision[] => {
      const row = result.talks.find(({ talk }) => talk === decision.talk)
      const isFound = row && !row.isDecided && row.recording !== null
      if (decision.verdict !== 'copy' || !isFound || row.recording === decision.recording)
        return [decision]
      return [{ verdict: 'pair', talk: row.talk, recording: row.recording ?? '' }, decision]
    })
  }

  return {
    async create({ schedule, playlist, category, language, onSchedule = () => {} }, origin) {
      const languageError = await findLanguageError(pool, language)
      if (languageError) throw invalidFields([languageError])
      const talks = await readSide(pool, 'talk', schedule, { category, language })
      const event = category ?? eventOf(talks.rows)
      if (event === undefined)
        throw new InputRefused('The schedule names no event. Enter the title of the event')
      onSchedule()
      const recordings = await readSide(pool, 'recording', playlist, { category: event })
      assertTwoSources(talks, recordings)
      return pool.transaction(async (tx) => {
        const [created] = await insertMatch(tx, {
          name: `${schedule.opened.name} + ${playlist.opened.name}`.slice(0, 500),
          event,
          talk_source: talks.source,
          recording_source: recordings.source,
          actor: origin.actor.name,
        })
        const { id } = created as MatchRow
        const rows = [...talks.rows, ...recordings.rows].map((row, position) => ({
          ...row,
          position,
        }))
        for (let start = 0; start < rows.length; start += rowsPerInsert)
          await insertItems(tx, id, rows.slice(start, start + rowsPerInsert))
        return id
      })
    },

    async read(id) {
      return toMatch(await readState(id))
    },

    async decide(id, decisions, { actor }) {
      const complete = await withPairs(id, decisions)
      const { match, input } = await readInput(pool, id)
      const read = complete.map((decision) => readDecision(decision, titlesOf(input)))
      await pool.transaction(async (tx) => {
        await lockDecisions(tx, match)
        const { step } = await newStep(tx)
        for (const decided of read) {
          const current = await readDecisions(tx, match, input)
          await replaceDecisions(tx, findReplaced(current, decided), step)
          await insertDecision(tx, match, decided, { step, actor: actor.name })
        }
      })
    },

    async undo(id) {
      const { match, input } = await readInput(pool, id)
      await pool.transaction(async (tx) => {
        await lockDecisions(tx, match)
        const last = await findLastStep(tx, id)
        if (!last) throw new Problem('wrong-state', 'There is no decision to undo')
        const current = (await readDecisions(tx, match, input)).filter(
          ({ step }) => step !== last.step,
        )
        // Later decisions of another match stay.
        const restored = (await findReplacedBy(tx, last.step)).filter(
          (row) => !current.some((later) => later.id > row.id && isReplaced(row, later)),
        )
        await undoStep(
          tx,
          last.step,
          restored.map((row) => row.id),
        )
      })
    },

    async plan(id, origin) {
      const state = await readState(id)
      const { match, result } = state
      const known = await findKnown(pool, state)
      const { id: importId, planned } = await beginImportOf(
        pool,
        {
          name: match.name,
          format: 'match',
          source: match.talk_source,
          otherSources: [match.recording_source, matchSource],
          items: itemsToImport(state, known),
        },
        origin,
      )
      await planned
      await saveImport(pool, id, importId)
      if (result.pattern !== null)
        await savePattern(pool, match.recording_source, seriesOf(match.event), result.pattern)
      return importId
    },

    async discard(id) {
      await requireMatch(pool, id)
      await deleteMatch(pool, id)
    },
  }
}

/** Reads the files of a match as the matcher needs them. */
async function readInput(db: Db, id: number) {
  const match = await requireMatch(db, id)
  const items = await findItems(db, id)
  const input: MatchInput = {
    event: match.event,
    talks: talksOf(items, 'talk').map(toScheduledTalk),
    recordings: talksOf(items, 'recording').map(toRecording),
  }
  return { match, items, input }
}

/** Returns the title of an event without its numbers: the series that it belongs to. */
const seriesOf = (event: string) =>
  foldText(event)
    .replaceAll(/[^\p{L}\s]/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, 255)

/** Finds which talks have records already, and what a match said about them. */
async function findKnown(db: Db, { match, input }: { match: MatchRow; input: MatchInput }) {
  const keys = input.talks.map(({ key }) => key)
  const talks = await findSourceStates(db, match.talk_source, keys)
  const matchKeys = keys.map((key) => matchKey(match, key))
  const states = await findSourceStates(db, matchSource, matchKeys)
  return {
    talks: new Set(talks.map(({ key }) => key)),
    matched: new Map(states.map(({ key, state }) => [key, Object.keys(state.fields)])),
  }
}

/** Reads all decisions about the talks and recordings of a match, also if a title has changed. */
function readDecisions(db: Db, match: MatchRow, { talks, recordings }: MatchInput) {
  const keysOf = (items: readonly { readonly key: string }[]) => items.map(({ key }) => key)
  return findDecisions(db, match, keysOf(talks), keysOf(recordings))
}

/** Lists matches with an id below `before`, newest first. */
export const listMatches = selectMatches

async function requireMatch(db: Db, id: number): Promise<MatchRow> {
  const match = await findMatch(db, id)
  if (!match) throw new Problem('not-found', 'There is no such match')
  return match
}

/** Returns the event that most talks of a schedule belong to. */
function eventOf(rows: Parameters<typeof talksOf>[0]): string | undefined {
  const titles = talksOf(rows, 'talk').flatMap(({ item: { fields, fallback } }) => {
    const { category } = { ...fallback, ...fields }
    return typeof category === 'string' && category !== '' ? [category] : []
  })
  const counts = [...Map.groupBy(titles, (title) => title)]
  const [most] = counts.sort(([, a], [, b]) => b.length - a.length)
  return most?.[0]
}

function toMatch({ match, items, decisions, input, result }: MatchState & { input: MatchInput }) {
  const talkByKey = new Map(input.talks.map((talk) => [talk.key, talk]))
  const talks = result.talks.map((row): MatchedTalk => {
    const talk = talkByKey.get(row.talk)
    const status = decisions.find(
      ({ verdict, talk_key: key }) => verdict === 'no-recording' && key === row.talk,
    )?.status
    return {
      key: row.talk,
      title: talk?.title ?? '',
      speakers: [...(talk?.speakers ?? [])],
      start: talk?.start ?? null,
      room: talk?.room ?? '',
      minutes: talk?.minutes ?? null,
      band: row.band,
      share: row.share,
      decided: row.isDecided,
      recording: row.recording,
      copies: [...row.copies],
      part: row.part && { start: row.part.startSeconds, end: row.part.endSeconds },
      status: status ?? null,
      proposals: row.proposals.map(({ recording, score, evidence }) => ({
        recording,
        score,
        talk_words: evidence.talkWords.map(([start, end]): [number, number] => [start, end]),
        recording_words: evidence.recordingWords.map(([start, end]): [number, number] => [
          start,
          end,
        ]),
        speakers_found: [...evidence.speakersFound],
        against: [...evidence.vetoes],
      })),
    }
  })
  const talkOf = new Map(
    result.talks
      .filter((row) => isSettled(row) && row.part === null)
      .flatMap(({ talk, recording, copies, isDecided }) =>
        // Copies that were only found are not used.
        [recording, ...(isDecided ? copies : [])].flatMap((key): [string, string][] =>
          key ? [[key, talk]] : [],
        ),
      ),
  )
  const decidedRecordings = new Set(
    result.talks.flatMap(({ isDecided, recording, copies }) =>
      isDecided ? [recording, ...copies] : [],
    ),
  )
  const rowOf = new Map(result.recordings.map((row) => [row.recording, row]))
  const itemOf = new Map(talksOf(items, 'recording').map(({ key, item }) => [key, item]))
  const ownTalks = new Set(
    decisions.flatMap(({ verdict, recording_key: key }) => (verdict === 'own-talk' ? [key] : [])),
  )
  const recordings = input.recordings.map(({ key, title, seconds }): MatchedRecording => {
    const row = rowOf.get(key)
    const url = itemOf.get(key)?.fields.source_url
    return {
      key,
      title,
      url: typeof url === 'string' ? url : '',
      seconds: seconds ?? null,
      talk: talkOf.get(key) ?? null,
      decided: row?.isDecided ?? decidedRecordings.has(key),
      own_talk: ownTalks.has(key),
      parts: (row?.parts ?? []).map(({ talk, startSeconds, endSeconds }) => ({
        talk,
        start: startSeconds,
        end: endSeconds,
      })),
    }
  })
  const { id, name, event, created, actor, import_id } = match
  const leftOut = findLeftOut(items)
  return {
    id,
    name,
    event,
    created,
    by: actor,
    import: import_id,
    pattern: result.pattern,
    questions: talks.filter(isMatchQuestion).length,
    talks,
    recordings,
    left_out: leftOut.slice(0, maxLeftOut),
    left_out_count: leftOut.length,
  } satisfies Match
}
