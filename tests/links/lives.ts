import type { SourceKind, SourceState, Verdict } from '@talkshelf/contract'

// The lives of sources, as data: what hosts answer on which days, and what must become of the
// sources. Day 0 is the day on which they are added; all is well until day 100, so that there are
// control sources that have been well for 90 days.

/** What a host answers. */
export const answers = {
  fine: 'what it answers for a video that is there',
  unauthorized: 'status 401',
  forbidden: 'status 403',
  'not-found': 'status 404',
  html: 'status 200 with an HTML page, whatever was asked for',
  elsewhere: 'a redirect to the same file at another host',
  region: 'the video, with a list of countries in which it is blocked',
  'bad-certificate': 'a TLS handshake with a certificate that has expired',
  nothing: 'no connection, or no address for its name',
} as const
export type Answer = keyof typeof answers

interface Period {
  /** The first day, and the day after the last. */
  readonly from: number
  readonly to: number
  /** The subjects; or with them every second other source, or all others, or all other hosts. */
  readonly who: 'subjects' | 'half' | 'host' | 'everything'
  readonly answer: Answer
  /** What a second question about the same source finds. */
  readonly witness: Answer
}

export interface Life {
  readonly name: string
  readonly kind: Extract<SourceKind, 'youtube' | 'file'>
  /** Sources of which the life tells; they have one owner. */
  readonly subjects: number
  /** Further sources at the same host, each with an owner of its own. */
  readonly others: number
  /** Further hosts, with one source each. */
  readonly otherHosts: number
  /** Outside of the periods, every answer is `fine`. */
  readonly periods: readonly Period[]
  /** Days on which an editor asks for a look at the subjects, so that it cannot be missed. */
  readonly checks: readonly number[]
  /** Whether editors ask for looks at all other sources too. */
  readonly checksAll?: boolean
  /** Requests a day to the host. */
  readonly budget?: number
  /** Whether the process is killed after every second look, before its result is written. */
  readonly isKilled?: boolean
  readonly days: number
  /** The states of each subject, one after the other, after `new`. */
  readonly states: readonly SourceState[]
  /** Whether it depends on chance if a subject becomes suspect in between. */
  readonly mayBeSuspect?: boolean
  /** The most requests that the host may get from one day to another. */
  readonly quiet?: { readonly from: number; readonly to: number; readonly requests: number }
  /** States that each subject must have on a day. */
  readonly on?: readonly {
    readonly day: number
    readonly state: SourceState
    /** The last good look must not be before this day. */
    readonly goodSince?: number
  }[]
}

const forever = Number.POSITIVE_INFINITY
const simple = { kind: 'youtube', subjects: 1, others: 60, otherHosts: 0 } as const

export const lives: readonly Life[] = [
  {
    ...simple,
    name: 'one bad day',
    periods: [{ from: 100, to: 101, who: 'subjects', answer: 'not-found', witness: 'not-found' }],
    checks: [100.5],
    days: 150,
    states: ['ok', 'suspect', 'ok'],
  },
  {
    ...simple,
    name: 'host down 5 days',
    periods: [{ from: 100, to: 105, who: 'host', answer: 'nothing', witness: 'nothing' }],
    checks: [100.5, 102.5, 104.5],
    days: 150,
    states: ['ok'],
    quiet: { from: 100, to: 105, requests: 10 },
  },
  {
    ...simple,
    name: 'all 401',
    periods: [{ from: 100, to: 104, who: 'host', answer: 'unauthorized', witness: 'fine' }],
    checks: [100.5, 102.6, 103.9],
    days: 150,
    states: ['ok'],
    mayBeSuspect: true,
  },
  {
    ...simple,
    name: 'half 401',
    periods: [{ from: 100, to: 104, who: 'half', answer: 'unauthorized', witness: 'fine' }],
    checks: [100.5, 102.6, 103.9],
    checksAll: true,
    days: 150,
    states: ['ok'],
    mayBeSuspect: true,
  },
  {
    ...simple,
    name: 'captcha with 200',
    periods: [{ from: 100, to: 104, who: 'host', answer: 'html', witness: 'fine' }],
    checks: [100.5, 102.6, 103.9],
    days: 150,
    states: ['ok'],
    quiet: { from: 100, to: 104, requests: 10 },
  },
  {
    ...simple,
    name: 'account closed',
    subjects: 400,
    others: 200,
    periods: [
      { from: 100, to: forever, who: 'subjects', answer: 'not-found', witness: 'not-found' },
    ],
    checks: [],
    days: 145,
    states: ['ok', 'suspect', 'closed'],
  },
  {
    ...simple,
    name: 'back',
    periods: [{ from: 100, to: 160, who: 'subjects', answer: 'forbidden', witness: 'not-found' }],
    checks: [100.5],
    days: 280,
    states: ['ok', 'suspect', 'private', 'ok'],
    on: [{ day: 110, state: 'private' }],
  },
  {
    ...simple,
    name: 'flapping',
    periods: [100, 115, 130].map((from) => {
      return { from, to: from + 12, who: 'subjects', answer: 'not-found', witness: 'not-found' }
    }),
    checks: [100.5, 112.5, 115.5, 127.5, 130.5, 142.5],
    days: 180,
    states: [
      ...(['ok', 'suspect', 'gone'] as const),
      ...(['ok', 'suspect', 'gone'] as const),
      ...(['ok', 'suspect', 'gone', 'ok'] as const),
    ],
    // The first two times one good look is enough; the third time it takes three.
    on: [
      { day: 113, state: 'ok' },
      { day: 128, state: 'ok' },
      { day: 148, state: 'gone' },
      { day: 151, state: 'ok' },
    ],
  },
  {
    ...simple,
    name: 'region',
    periods: [{ from: 100, to: forever, who: 'subjects', answer: 'region', witness: 'fine' }],
    checks: [100.5],
    days: 180,
    states: ['ok', 'suspect', 'region'],
    on: [{ day: 104, state: 'region' }],
  },
  {
    ...simple,
    name: 'soft 404',
    kind: 'file',
    periods: [{ from: 100, to: forever, who: 'subjects', answer: 'html', witness: 'html' }],
    checks: [100.5],
    days: 300,
    states: ['ok', 'suspect'],
  },
  {
    ...simple,
    name: 'moved',
    kind: 'file',
    periods: [
      { from: 100, to: forever, who: 'subjects', answer: 'elsewhere', witness: 'elsewhere' },
    ],
    checks: [100.5],
    days: 180,
    states: ['ok', 'suspect', 'moved'],
  },
  {
    ...simple,
    name: 'certificate',
    kind: 'file',
    others: 4,
    periods: [
      { from: 100, to: 160, who: 'host', answer: 'bad-certificate', witness: 'bad-certificate' },
    ],
    checks: [100.5],
    days: 200,
    states: ['ok', 'unreachable', 'ok'],
    quiet: { from: 100, to: 160, requests: 20 },
    on: [
      { day: 111, state: 'ok' },
      { day: 122, state: 'unreachable' },
    ],
  },
  {
    ...simple,
    name: 'offline',
    otherHosts: 3,
    periods: [{ from: 100, to: 102, who: 'everything', answer: 'nothing', witness: 'nothing' }],
    checks: [100.5, 101.5, 102.1],
    checksAll: true,
    days: 150,
    states: ['ok'],
    // No host is paused once we are online again.
    on: [{ day: 102.2, state: 'ok', goodSince: 102 }],
  },
  {
    ...simple,
    name: 'budget spent',
    budget: 5,
    periods: [
      { from: 100, to: forever, who: 'subjects', answer: 'not-found', witness: 'not-found' },
    ],
    checks: [100.5],
    days: 180,
    states: ['ok', 'suspect', 'gone'],
  },
  {
    ...simple,
    name: 'killed in a batch',
    isKilled: true,
    periods: [
      { from: 100, to: forever, who: 'subjects', answer: 'not-found', witness: 'not-found' },
    ],
    checks: [100.5],
    days: 180,
    states: ['ok', 'suspect', 'gone'],
  },
]

/** Returns what the checker must read from an answer. */
export function verdictOf(kind: Life['kind'], answer: Answer): Verdict {
  switch (answer) {
    case 'fine':
      return 'ok'
    case 'unauthorized':
      return 'embed-off'
    case 'forbidden':
      return 'private'
    case 'not-found':
      return 'gone'
    case 'html':
      // Where JSON is expected, it is a captcha.
      return kind === 'file' ? 'odd' : 'refused'
    case 'elsewhere':
      return 'moved'
    case 'region':
      return 'region'
    case 'bad-certificate':
    case 'nothing':
      return 'refused'
  }
}

/** Sources as the periods of a life distinguish them. */
export type Role = 'subject' | 'other in the half' | 'other' | 'other host'

const affected: Record<Period['who'], readonly Role[]> = {
  subjects: ['subject'],
  half: ['subject', 'other in the half'],
  host: ['subject', 'other in the half', 'other'],
  everything: ['subject', 'other in the half', 'other', 'other host'],
}

/** Returns the answer to a question on a day. */
export function answerOn({ periods }: Life, day: number, role: Role, isWitness: boolean): Answer {
  const period = periods.find(
    ({ from, to, who }) => from <= day && day < to && affected[who].includes(role),
  )
  if (!period) return 'fine'
  return isWitness ? period.witness : period.answer
}
