import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { riverDays, riverDaysRecordings, riverDaysTalks } from '../../tests/support/river-days.ts'
import {
  type Decision,
  type MatchInput,
  matchTalks,
  type TalkRow,
  titleFingerprint,
} from './matching.ts'

const rowOf = (input: MatchInput, talk: string): TalkRow => {
  const row = matchTalks(input).talks.find((one) => one.talk === talk)
  assert.ok(row)
  return row
}
const withDecisions = (...decisions: Decision[]): MatchInput => ({ ...riverDays, decisions })
const onlyTalks = (...keys: string[]) => riverDaysTalks.filter(({ key }) => keys.includes(key))
const onlyRecordings = (...keys: string[]) =>
  riverDaysRecordings.filter(({ key }) => keys.includes(key))

/** The pairs of a result, as `aA` for talk and recording, with their bands. */
const pairsOf = (input: MatchInput) =>
  matchTalks(input)
    .talks.map(({ talk, recording, band }) => `${talk}${recording ?? '-'} ${band}`)
    .sort()

test('pairs the talks of an event with their recordings', () => {
  assert.deepEqual(pairsOf(riverDays), [
    'aA sure',
    'bB sure',
    'cC sure',
    'dD sure',
    'eE sure',
    'fF sure',
    'g- none',
    'hH sure',
    'iI sure',
    'jJ sure',
    'kK likely',
    'lL sure',
  ])
})

test('returns the recordings without a talk, as the pattern of the playlist reads them', () => {
  const { recordings, pattern } = matchTalks(riverDays)
  assert.equal(pattern, '{speaker} - {title} | {event}')
  assert.deepEqual(
    recordings.map(({ recording, reading }) => [recording, reading]),
    [
      ['X', { title: 'Forecasting droughts', speaker: 'Gita Rao' }],
      ['Y', { title: 'An interview about eels', speaker: 'Iris Novak' }],
    ],
  )
})

test('takes the pattern of an earlier run if there are too few pairs to learn one', () => {
  const few = { ...riverDays, talks: onlyTalks('b'), recordings: onlyRecordings('B', 'Y') }
  assert.equal(matchTalks(few).pattern, null)
  const pattern = '{speaker} - {title} | {event}'
  const [row] = matchTalks({ ...few, pattern }).recordings
  assert.deepEqual(row?.reading, { title: 'An interview about eels', speaker: 'Iris Novak' })
})

test('never pairs automatically with another year, part, speaker or end of the event', () => {
  for (const [talk, recording, veto] of [
    ['j', 'X', 'other-year'],
    ['d', 'E', 'other-part'],
    ['a', 'L', 'other-part'],
  ] as const) {
    const rest = riverDaysTalks.filter(({ key }) => 'bcfhi'.includes(key))
    const row = rowOf(
      {
        ...riverDays,
        talks: [...rest, ...onlyTalks(talk)],
        recordings: [...onlyRecordings('B', 'C', 'F', 'H', 'I'), ...onlyRecordings(recording)],
      },
      talk,
    )
    assert.notEqual(row.band, 'sure', `${talk}${recording}`)
    assert.ok(row.proposals[0]?.evidence.vetoes.includes(veto), `${talk}${recording}`)
  }
  const recordings = riverDaysRecordings.map((one) =>
    one.key === 'B' ? { ...one, title: one.title.replace('Lukasz Kowalski', 'Iris Novak') } : one,
  )
  const row = rowOf({ ...riverDays, recordings }, 'b')
  assert.deepEqual([row.band, row.recording], ['likely', 'B'])
  assert.deepEqual(row.proposals[0]?.evidence.vetoes, ['other-speaker'])
})

test('asks about a generic title of which the playlist says neither day, speaker nor event', () => {
  const lightning = (title: string) =>
    rowOf({ ...riverDays, recordings: [...riverDaysRecordings, { key: 'G', title }] }, 'g')
  assert.equal(lightning('Lightning talks').band, 'likely')
  assert.equal(lightning('Lightning talks | River Days 2026').band, 'sure')
  assert.equal(lightning('Lightning talks on Friday').band, 'sure')
  assert.notEqual(lightning('Lightning talks on Saturday').band, 'sure')
})

test('asks if two recordings could be the same talk', () => {
  const copy = { ...(onlyRecordings('H')[0] as (typeof riverDaysRecordings)[number]), key: 'H2' }
  const row = rowOf({ ...riverDays, recordings: [...riverDaysRecordings, copy] }, 'h')
  assert.notEqual(row.band, 'sure')
  assert.equal(row.margin, 0)
  assert.deepEqual([row.recording, ...row.copies], ['H', 'H2'])
})

test('accepts what stands beside the whole title and name: days, accounts, "Keynote by"', () => {
  const retitled = (key: string, title: string, talks = riverDaysTalks) => {
    const recordings = riverDaysRecordings.map((one) => (one.key === key ? { ...one, title } : one))
    return rowOf({ ...riverDays, talks, recordings }, key.toLowerCase())
  }
  const title = 'Dana Lund - Otters, beavers and the return of the floodplain'
  assert.equal(retitled('H', `Day 2: ${title} | River Days 2026`).band, 'sure')
  assert.notEqual(retitled('H', `${title} (Part 2) | River Days 2026`).band, 'sure')
  assert.equal(retitled('H', `${title} @dana1994 | River Days`).band, 'sure')
  assert.notEqual(retitled('H', `${title} | River Days 1994`).band, 'sure')
  const keynote = riverDaysTalks.map((one) =>
    one.key === 'h' ? { ...one, title: `Keynote: ${one.title}` } : one,
  )
  assert.equal(retitled('H', 'Dana Lund - Keynote | River Days 2026', keynote).band, 'sure')
  assert.notEqual(retitled('H', 'Dana Lund - Keynote | River Days 2026').band, 'sure')
})

test('does not take the head of any event for the talk', () => {
  const talks = riverDaysTalks.map((one) =>
    one.key === 'h' ? { ...one, title: `Keynote: ${one.title}` } : one,
  )
  const event = { ...riverDays, talks, recordings: [...riverDaysRecordings] }
  const alone = rowOf(event, 'h').margin
  event.recordings.push({ key: 'Z', title: 'Keynote | River Days 2026' })
  const { recording, band, margin } = rowOf(event, 'h')
  assert.deepEqual([recording, band], ['H', 'sure'])
  assert.ok(margin > alone / 2, `${margin}`)
})

test('takes neither a session nor unnamed speakers for other speakers', () => {
  const title = 'Otters, beavers and the return of the floodplain'
  const recordings = riverDaysRecordings.map((one) =>
    one.key === 'H'
      ? { ...one, title: `Panel discussion - Live: ${title} | River Days 2026` }
      : one,
  )
  const { proposals } = rowOf({ ...riverDays, recordings }, 'h')
  assert.deepEqual(proposals[0]?.evidence.vetoes, [])
  const various = { key: 'G', title: 'Various speakers - Lightning talks | River Days 2026' }
  const event = { ...riverDays, recordings: [...riverDaysRecordings, various] }
  assert.equal(rowOf(event, 'g').band, 'sure')
})

test('asks about half a title if the playlist is not that of one event', () => {
  const title = 'How beavers and otters came back to the floodplain | River Days 2026'
  const recordings = riverDaysRecordings.map((one) => (one.key === 'H' ? { ...one, title } : one))
  assert.equal(rowOf({ ...riverDays, recordings }, 'h').band, 'sure')
  const others = ['Ants', 'Bees', 'Crickets', 'Moths', 'Spiders', 'Ticks'].map((word) => ({
    key: word,
    title: `${word} of the world | Insect Days 2026`,
  }))
  const row = rowOf({ ...riverDays, recordings: [...recordings, ...others] }, 'h')
  assert.deepEqual([row.recording, row.band], ['H', 'likely'])
})

test('shows what speaks for a pair', () => {
  const [proposal] = rowOf(riverDays, 'h').proposals
  const title = riverDaysTalks.find(({ key }) => key === 'h')?.title ?? ''
  const marked = proposal?.evidence.talkWords.map(([start, end]) => title.slice(start, end))
  assert.deepEqual(marked, ['Otters', 'beavers', 'and', 'the', 'return', 'of', 'the', 'floodplain'])
  assert.deepEqual(proposal?.evidence.speakersFound, ['Dana Lund'])
  assert.deepEqual(proposal?.evidence.plannedMinutes, 30)
  assert.deepEqual(proposal?.evidence.recordedMinutes, 30)
  assert.ok(rowOf(riverDays, 'j').proposals.length <= 3)
})

test('respects every decision, and asks again only if a title changed', () => {
  const title = (key: string) =>
    titleFingerprint(
      [...riverDaysTalks, ...riverDaysRecordings].find((one) => one.key === key)?.title ?? '',
    )
  const pair: Decision = {
    verdict: 'pair',
    talk: 'g',
    recording: 'Y',
    talkTitle: title('g'),
    recordingTitle: title('Y'),
  }
  const decided = rowOf(withDecisions(pair), 'g')
  assert.deepEqual([decided.recording, decided.isDecided, decided.share], ['Y', true, 1])
  const renamed = { ...pair, recordingTitle: titleFingerprint('Another title') }
  assert.equal(rowOf(withDecisions(renamed), 'g').isDecided, false)

  const refused = rowOf(withDecisions({ verdict: 'not', talk: 'b', recording: 'B' }), 'b')
  assert.ok(refused.proposals.every(({ recording }) => recording !== 'B'))
  const none = rowOf(withDecisions({ verdict: 'no-recording', talk: 'b' }), 'b')
  assert.deepEqual([none.band, none.recording, none.isDecided], ['none', null, true])

  const noTalk = matchTalks(withDecisions({ verdict: 'no-talk', recording: 'B' }))
  assert.ok(noTalk.talks.every((row) => row.recording !== 'B'))
  assert.equal(noTalk.recordings.find(({ recording }) => recording === 'B')?.isDecided, true)

  const part = rowOf(
    withDecisions({ verdict: 'part', talk: 'b', recording: 'Y', startSeconds: 5, endSeconds: 9 }),
    'b',
  )
  assert.deepEqual(part.part, { startSeconds: 5, endSeconds: 9 })
  assert.deepEqual([part.recording, part.isDecided], ['Y', true])
})

test('proposes the talks that a recording contains', () => {
  const description = (text: string) =>
    matchTalks({
      ...riverDays,
      recordings: [{ key: 'P', title: 'River Days 2026, day 1', seconds: 9000, description: text }],
    }).recordings[0]?.parts
  const times = (parts: ReturnType<typeof description>) =>
    parts?.map(({ talk, startSeconds, endSeconds, basis }) => [
      talk,
      startSeconds,
      endSeconds,
      basis,
    ])
  assert.deepEqual(
    times(
      description(
        'All of it:\n0:00 Hello\n15:00 Measuring water levels with cheap sensors\n' +
          '47:30 - 1:15:00 Why dams fail: a history in seven maps (Björk Ørsted)',
      ),
    ),
    [
      ['b', 900, 2850, 'chapters'],
      ['c', 2850, 4500, 'chapters'],
    ],
  )
  assert.deepEqual(
    times(
      description('Measuring water levels with cheap sensors\nForecasting floods from open data'),
    ),
    [
      ['b', null, null, 'description'],
      ['j', null, null, 'description'],
    ],
  )
  assert.deepEqual(
    times(
      description(
        'Why dams fail: a history in seven maps\nMeasuring water levels with cheap sensors',
      ),
    ),
    [
      ['b', 0, 1800, 'slots'],
      ['c', 1800, 3600, 'slots'],
    ],
  )
  assert.deepEqual(description('0:00 Questions\n12:00 Answers'), [])
})

test('refuses more than it can compare', () => {
  const talks = Array.from({ length: 5001 }, (_, index) => ({
    key: String(index),
    title: 'A talk',
    speakers: [],
  }))
  assert.throws(() => matchTalks({ event: '', talks, recordings: [] }), RangeError)
})

// Titles of any script, with little variety so that words are shared.
const word = fc.constantFrom(
  ...'water Water wáter river levels 川の流れ 測る 한국어 🌊 Part 1 2 #3 2024 2026 by - | : … C++ 3.11 Ana Lund ß'.split(
    ' ',
  ),
)
const title = fc.oneof(
  fc.array(word, { maxLength: 8 }).map((words) => words.join(' ')),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
)
const event = fc.record({
  talks: fc.array(fc.record({ title, speakers: fc.array(title, { maxLength: 2 }) }), {
    maxLength: 8,
  }),
  recordings: fc.array(fc.record({ title, seconds: fc.constantFrom(null, 60, 1800) }), {
    maxLength: 8,
  }),
})
const keyed = <T>(items: readonly T[]) =>
  items.map((item, index) => ({ ...item, key: String(index) }))

test('finds the same pairs in any order, in any form of Unicode, and never fails', () => {
  fc.assert(
    fc.property(event, fc.constantFrom('NFC', 'NFD'), ({ talks, recordings }, form) => {
      const input = { event: 'River Days 2026', talks: keyed(talks), recordings: keyed(recordings) }
      const expected = pairsOf(input)
      const reversed = {
        ...input,
        talks: input.talks.toReversed(),
        recordings: input.recordings.toReversed(),
      }
      assert.deepEqual(pairsOf(reversed), expected)
      const inForm = {
        ...input,
        talks: input.talks.map((one) => ({ ...one, title: one.title.normalize(form) })),
        recordings: input.recordings.map((one) => ({ ...one, title: one.title.normalize(form) })),
      }
      assert.deepEqual(pairsOf(inForm), expected)
      const taken = matchTalks(input).talks.flatMap(({ recording }) => recording ?? [])
      assert.equal(new Set(taken).size, taken.length)
    }),
    { numRuns: 300 },
  )
})

test('pairs titles with the same words in upper case, without accents and punctuation', () => {
  const plain = (text: string) =>
    text
      .normalize('NFD')
      .replaceAll(/[\p{M},:?]/gu, '')
      .toUpperCase()
      .replaceAll('C++', 'c++')
  const recordings = riverDaysRecordings.map((one) => ({ ...one, title: plain(one.title) }))
  assert.deepEqual(pairsOf({ ...riverDays, recordings }), pairsOf(riverDays))
})
