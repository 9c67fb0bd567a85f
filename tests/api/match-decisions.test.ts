import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Match, MatchDecision } from '@talkshelf/contract'
import fc from 'fast-check'
import { openInput } from '../../server/imports/imports.ts'
import { openMatches } from '../../server/matches/matches.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { timeoutsFor } from '../../server/platform/timeouts.ts'
import { playlistJson, scheduleJson } from '../support/conference.ts'
import { freshDatabase } from '../support/database.ts'

// Random sequences of matches, decisions, uploads and changed titles: no decision is lost while its
// titles stay, and none is asked twice. The model knows only what was decided about which titles.

// Sequences in npm test; nightly runs 1,000.
const sequences = Number(process.env.MATCH_SEQUENCES ?? 60)
const seed = Number(process.env.MATCH_SEED ?? 20_261_118)

const database = await freshDatabase()
const pool = openPool({
  url: database.url,
  connections: 4,
  applicationName: 'tests',
  // Statements end in milliseconds, but on a starved machine now and then one waits for seconds.
  times: timeoutsFor(60),
})
const matches = openMatches(pool)
after(() => pool.close())

const origin = {
  actor: { role: 'admin', name: 'Ada', token: null },
  via: 'command',
  request: 'test',
} as const

const words = ['gardens', 'rivers', 'compilers', 'lighthouses', 'maps', 'kettles', 'ferns']
const names = ['Ada Lind', 'Grace Okafor', 'Annie Duarte', 'Mary Rao']

const step = fc.oneof(
  fc.record({ kind: fc.constant('talk' as const), word: fc.nat(6), name: fc.nat(3) }),
  fc.record({
    kind: fc.constant('video' as const),
    word: fc.nat(6),
    name: fc.option(fc.nat(3), { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('rename-talk' as const), at: fc.nat(9), word: fc.nat(6) }),
  fc.record({ kind: fc.constant('rename-video' as const), at: fc.nat(9), word: fc.nat(6) }),
  fc.record({
    kind: fc.constant('decide' as const),
    verdict: fc.constantFrom('pair', 'not', 'no-recording', 'no-talk', 'own-talk'),
    talk: fc.nat(9),
    video: fc.nat(9),
  }),
  fc.record({ kind: fc.constant('undo' as const) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A decision and the titles that it is about. */
interface Decided {
  readonly decision: MatchDecision
  readonly talkTitle: string | undefined
  readonly videoTitle: string | undefined
}

let sequence = 0

test(`keeps every decision in ${sequences} sequences, and asks nothing twice`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 16 }), async (steps) => {
      await runSequence(++sequence, steps)
    }),
    { numRuns: sequences, seed },
  )
})

async function runSequence(number: number, steps: readonly Step[]): Promise<void> {
  const talks = new Map([[`${number}-t0`, talkOf(`${number}-t0`, 0, 0)]])
  const videos = new Map([[`v${number}x0`.padEnd(11, '_'), videoOf(`v${number}x0`, 0, 0)]])
  let decided: Decided[] = []
  const history: Decided[][] = []
  const create = async (): Promise<Match> => {
    const open = (name: string, text: string) => openInput({ stream: bytesOf(text), name })
    const id = await matches.create(
      {
        schedule: { opened: await open('schedule', scheduleJson([...talks.values()])) },
        playlist: { opened: await open('playlist', playlistJson([...videos.values()])) },
      },
      origin,
    )
    return matches.read(id)
  }
  const titleOfTalk = (key: string | undefined) => talks.get(key ?? '')?.title
  const titleOfVideo = (key: string | undefined) => videos.get(key?.slice(8) ?? '')?.title
  const holds = ({ decision, talkTitle, videoTitle }: Decided) =>
    titleOfTalk(decision.talk) === talkTitle && titleOfVideo(decision.recording) === videoTitle

  let match = await create()
  for (const current of steps) {
    if (current.kind === 'talk') {
      const key = `${number}-t${talks.size}`
      talks.set(key, talkOf(key, current.word, current.name))
    } else if (current.kind === 'video') {
      const key = `v${number}x${videos.size}`.padEnd(11, '_')
      videos.set(key, videoOf(key, current.word, current.name))
    } else if (current.kind === 'rename-talk') {
      const [key, talk] = [...talks][current.at % talks.size] as [string, ReturnType<typeof talkOf>]
      talks.set(key, { ...talk, title: `Tales of ${words[current.word]}` })
    } else if (current.kind === 'rename-video') {
      const [key, video] = [...videos][current.at % videos.size] as [
        string,
        ReturnType<typeof videoOf>,
      ]
      videos.set(key, { ...video, title: `Film about ${words[current.word]}` })
    } else if (current.kind === 'decide') {
      const talk = [...talks.keys()][current.talk % talks.size]
      const recording = `youtube:${[...videos.keys()][current.video % videos.size]}`
      const { verdict } = current
      const decision = {
        verdict,
        ...(verdict !== 'no-talk' && verdict !== 'own-talk' && { talk }),
        ...(verdict !== 'no-recording' && { recording }),
      } as MatchDecision
      await matches.decide(match.id, [decision], origin)
      history.push(decided)
      decided = [
        ...decided.filter((other) => !contradicts(decision, other.decision)),
        {
          decision,
          talkTitle: titleOfTalk(decision.talk),
          videoTitle: titleOfVideo(decision.recording),
        },
      ]
      match = await matches.read(match.id)
      check(match, decided.filter(holds))
      continue
    } else if (history.length > 0) {
      await matches.undo(match.id)
      decided = history.pop() ?? []
      match = await matches.read(match.id)
      check(match, decided.filter(holds))
      continue
    } else continue
    // The files come again: an earlier match can be undone only on its own page.
    match = await create()
    history.length = 0
    check(match, decided.filter(holds))
  }
}

/** Tells whether a new decision replaces an earlier one. */
function contradicts(decision: MatchDecision, earlier: MatchDecision): boolean {
  const sameTalk = decision.talk !== undefined && decision.talk === earlier.talk
  const sameVideo = decision.recording !== undefined && decision.recording === earlier.recording
  if (decision.verdict === 'not' || earlier.verdict === 'not') return sameTalk && sameVideo
  return sameTalk || sameVideo
}

function check(match: Match, holding: readonly Decided[]): void {
  const talkOf = new Map(match.talks.map((talk) => [talk.key, talk]))
  const recordingOf = new Map(match.recordings.map((recording) => [recording.key, recording]))
  for (const { decision } of holding) {
    const talk = talkOf.get(decision.talk ?? '')
    const recording = recordingOf.get(decision.recording ?? '')
    const what = JSON.stringify({ decision, talk, recording })
    if (decision.verdict === 'pair') {
      assert.equal(talk?.recording, decision.recording, what)
      assert.equal(talk?.decided, true, what)
    } else if (decision.verdict === 'not')
      assert.notEqual(talk?.recording, decision.recording, what)
    else if (decision.verdict === 'no-recording') {
      assert.equal(talk?.recording, null, what)
      assert.equal(talk?.decided, true, what)
    } else {
      assert.equal(recording?.talk, null, what)
      assert.equal(recording?.own_talk, decision.verdict === 'own-talk', what)
    }
  }
  // No two talks have one recording.
  const used = match.talks.flatMap(({ recording, decided }) => (decided && recording) || [])
  assert.equal(new Set(used).size, used.length)
}

function talkOf(guid: string, word: number, name: number) {
  const speakers = [names[name] as string]
  return { guid, title: `Talking about ${words[word]}`, speakers, time: '09:00' }
}

function videoOf(id: string, word: number, name: number | undefined) {
  const speaker = name === undefined ? 'Somewhere' : names[name]
  return { id: id.padEnd(11, '_'), title: `${speaker}: Talking about ${words[word]}` }
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
