import { createHash, createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { Problem, type Video } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { insertKey, listKeys, type Usage } from './queries.ts'

// Limits against abuse: of a network, of a record and in all. Forms are signed, and used once. What
// resembles abuse is not refused but has a low priority: it is behind all others in the queue.

const perHour = 5
const perDay = 20
const openPerVideo = 20
const openInAll = 500
/** Of these, so many may have a low priority: abuse leaves room for others. */
const openWithLowPriority = 300
/** Above this number of suggestions in an hour, forms ask for proof of work. */
const proofOfWorkThreshold = 50
/** A suggestion with as many new links has a low priority. */
export const manyLinks = 3
/** The leading zero bits of a proof of work. */
export const proofOfWorkBits = 18
/** People take longer to fill in a form. */
export const minFormMs = 3000
const maxFormMs = 86_400_000
/** Networks are recognized for a week. */
const keyDays = 8

/** Tells whether the archive or the record has as many open suggestions as it may. */
export const isQueueFull = ({ open, open_of_video }: Usage) =>
  open >= openInAll || open_of_video >= openPerVideo

/** Throws if the archive or the record has too many open suggestions. */
export function assertQueueHasRoom(usage: Usage, isLowPriority: boolean): void {
  const isFull = isLowPriority && usage.open_with_low_priority >= openWithLowPriority
  if (isFull || isQueueFull(usage))
    throw new Problem('queue-full', 'Too many suggestions are open. Nothing was stored')
}

/** Throws if a network has sent too many suggestions. */
export function assertNetworkMaySend({ in_hour, in_day }: Usage): void {
  if (in_hour < perHour && in_day < perDay) return
  throw new Problem(
    'too-many-requests',
    `Your network may send ${perHour} suggestions in an hour and ${perDay} in a day`,
    { retry_after: in_day < perDay ? 3600 : 86_400 },
  )
}

/** Tells whether so many suggestions arrive that forms ask for proof of work. */
export const isFlooded = ({ all_in_hour }: Usage) => all_in_hour > proofOfWorkThreshold

/** Tells whether a form asked for proof of work and has none, while many suggestions arrive. */
export const lacksProofOfWork = (form: SentForm, usage: Usage) =>
  form.asksProofOfWork && !form.hasProofOfWork && isFlooded(usage)

/** Widens the network of rate limits: an IPv4 address to /24, IPv6 to /56. */
function widerNetwork(network: string): string {
  const [, ipv4] = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/i.exec(network) ?? []
  if (ipv4 !== undefined) return `${ipv4}.0/24`
  const [a = '', b = '', c = '', d = ''] = network.split(':')
  const group = Number.parseInt(d || '0', 16)
  return `${a}:${b}:${c}:${(group & 0xff00).toString(16)}::/56`
}

export interface DayKeys {
  readonly today: Buffer
  /** Those of the last days, by day. */
  readonly byDay: ReadonlyMap<string, Buffer>
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** Reads the keys of the last days. Creates the one of today. */
export async function readKeys(db: Db, nowMs = Date.now()): Promise<DayKeys> {
  const today = dayOf(nowMs)
  const read = async () =>
    new Map((await listKeys(db, keyDays)).map(({ day, key }) => [day, key] as const))
  let byDay = await read()
  if (!byDay.has(today)) {
    await insertKey(db, today, randomBytes(32))
    byDay = await read()
  }
  const key = byDay.get(today)
  if (!key) throw new Error('There is no key of today')
  return { today: key, byDay }
}

/** Returns the hashes of a network: with the key of today first, then of the days before. */
export function hashNetwork({ today, byDay }: DayKeys, network: string): Buffer[] {
  const hashWith = (key: Buffer) =>
    createHmac('sha256', key)
      .update(`network ${widerNetwork(network)}`)
      .digest()
  return [today, ...[...byDay.values()].filter((key) => key !== today)].map(hashWith)
}

/** What a form is about, and what it asks for. The token of the form has it signed. */
export interface FormTerms {
  /** The record that the form shows, or null for a missing talk. */
  readonly video: number | null
  /** The revision that the form shows; 0 for a missing talk. */
  readonly revision: number
  /** Whether the browser shall do some work, which costs senders of many suggestions time. */
  readonly asksProofOfWork: boolean
  /** Hash of the names that the form shows; they may be renamed until it is sent. */
  readonly namesHash: string
}

/** The fields of a record with names of entities. */
export const nameFields = ['category', 'speakers', 'tags'] as const
type ShownNames = Readonly<Partial<Pick<Video, (typeof nameFields)[number]>>>

/** Hashes the names that a form shows, each field on its own. */
export function hashNames(shown: ShownNames): string {
  const hashOf = (field: keyof ShownNames) =>
    hash('sha256', `${field} ${JSON.stringify(shown[field] ?? null)}`, 'base64url').slice(0, 16)
  return nameFields.map(hashOf).join('')
}

/** A form that was sent. */
export interface SentForm extends FormTerms {
  readonly state: 'valid' | 'expired' | 'too-fast'
  readonly hash: Buffer
  /** The secret of the suggestion. It is derived, so that a form that is sent twice has one. */
  readonly secret: string
  readonly hasProofOfWork: boolean
  /** Hashes what was typed with the nonce, which is stored nowhere. */
  hashInput(input: string): Buffer
  /** Tells whether the form showed these names. */
  showed(field: (typeof nameFields)[number], names: unknown): boolean
}

/** Signs a form. */
export function signForm({ today }: DayKeys, terms: FormTerms, nowMs = Date.now()): string {
  const nonce = randomBytes(16).toString('base64url')
  const { revision, asksProofOfWork, namesHash } = terms
  const head = `${nonce}.${nowMs}.${revision}.${asksProofOfWork ? 1 : 0}.${namesHash}`
  return `${head}.${formSignature(today, head, terms.video)}`
}

function formSignature(key: Buffer, head: string, video: number | null): string {
  const subject = video === null ? 'missing' : `video ${video}`
  return createHmac('sha256', key).update(`form ${head} ${subject}`).digest('base64url')
}

/**
 * Reads the token of a form about a record. Returns undefined if it is not signed. It is `expired`
 * after a day, and `too-fast` if it was sent faster than people type.
 */
export function readForm(
  { byDay }: DayKeys,
  video: number | null,
  { token, proofOfWork }: { readonly token: string; readonly proofOfWork: string },
  nowMs = Date.now(),
): SentForm | undefined {
  const [, head = '', nonce = '', ms = '', revision, asked, namesHash = '', signature = ''] =
    /^(([\w-]{22})\.(\d{13})\.(\d{1,10})\.([01])\.([\w-]{48}))\.([\w-]{43})$/.exec(token) ?? []
  const key = byDay.get(ms === '' ? '' : dayOf(Number(ms)))
  if (!key) return undefined
  const expected = formSignature(key, head, video)
  if (!timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) return undefined
  const ageMs = nowMs - Number(ms)
  return {
    video,
    revision: Number(revision),
    asksProofOfWork: asked === '1',
    namesHash,
    state: formState(ageMs),
    hash: hash('sha256', nonce, 'buffer'),
    secret: createHmac('sha256', key).update(`secret ${nonce}`).digest('base64url'),
    hasProofOfWork: isProofOfWork(nonce, proofOfWork),
    hashInput: (input) => createHmac('sha256', nonce).update(input).digest(),
    showed: (field, names) => {
      const part = (text: string) => text.slice(nameFields.indexOf(field) * 16).slice(0, 16)
      return part(hashNames({ [field]: names })) === part(namesHash)
    },
  }
}

function formState(ageMs: number): SentForm['state'] {
  if (ageMs > maxFormMs) return 'expired'
  return ageMs < minFormMs ? 'too-fast' : 'valid'
}

/** Tells whether the hash of the nonce and the solution begins with enough zero bits. */
function isProofOfWork(nonce: string, solution: string): boolean {
  if (!/^\d{1,12}$/.test(solution)) return false
  const digest = createHash('sha256').update(`${nonce}.${solution}`).digest()
  return digest.readUInt32BE() >>> (32 - proofOfWorkBits) === 0
}
