import { createHash } from 'node:crypto'
import { OutboundError } from '../../platform/net/outbound.ts'
import type { ProbeAnswer, ProbeRequest } from '../../platform/net/probe.ts'
import { parseRetryAfter } from '../../platform/net/retry-after.ts'
import { type Ask, HostRefused, type ProbeResult } from './probe.ts'

// Reads answers of foreign servers. All of their content is hostile: nothing here throws, and what
// is kept is short and without control characters.

const maxJsonLength = 64 * 1024
const maxUrlLength = 2048
const maxSeconds = 30 * 24 * 3600
const maxRetryAfterMs = 7 * 24 * 3_600_000

/** Statuses with which a host refuses the one who asks, or fails. */
const refusals = [401, 402, 403, 407, 408, 420, 425, 429]

export interface Question {
  /** Names the question in the evidence. */
  readonly name: string
  /** Whether JSON is due. */
  readonly isJson?: boolean
  /** Whether the answer may come from another path, as that of a file that was moved. */
  readonly mayMove?: boolean
}

/**
 * Sends a request and reads the answer with `read`, which returns undefined for answers that have
 * no meaning of their own. These, and no answer at all, are odd or refusals.
 */
export async function askHost(
  ask: Ask,
  request: ProbeRequest,
  question: Question,
  read: (answer: ProbeAnswer) => ProbeResult | undefined | Promise<ProbeResult | undefined>,
): Promise<ProbeResult> {
  let answer: ProbeAnswer
  try {
    answer = await ask(request)
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    if (error instanceof HostRefused)
      return {
        verdict: 'refused',
        evidence: error.message,
        ...(error.retryAfterSeconds !== undefined && {
          retryAfterSeconds: error.retryAfterSeconds,
        }),
      }
    return { verdict: 'refused', evidence: `${question.name}: ${failureOf(error)}` }
  }
  if (answer.stopped) return stoppedResult(answer, answer.stopped, question)
  // The page to which an API redirects, such as one for consent, says nothing about a video.
  if (!question.mayMove && pathOf(answer.finalUrl) !== pathOf(request.url))
    return { verdict: 'refused', evidence: `${question.name} redirects`, ...waitOf(answer) }
  return (await read(answer)) ?? unreadResult(answer, question)
}

const pathOf = (url: string) => URL.parse(url)?.pathname

/** Says why there was no answer. */
function failureOf({ code, cause }: OutboundError): string {
  const text = cause instanceof Error && 'code' in cause ? `${cause.code}` : ''
  const detail = /^[A-Z][A-Z0-9_]{1,60}$/.test(text) ? ` (${text})` : ''
  const failures: Record<OutboundError['code'], string> = {
    'address-refused': 'the host has no public address',
    unreachable: `no connection${detail}`,
    'not-found': 'no connection',
    'bad-answer': `no valid HTTP${detail}`,
    'too-large': 'no end of the answer',
    'too-slow': 'no answer in time',
  }
  return failures[code]
}

/**
 * Returns the result for a redirect that could not be followed. It is the fault of the host only if
 * the host itself could not be reached then.
 */
function stoppedResult(
  { finalUrl, headers }: ProbeAnswer,
  stopped: OutboundError,
  { name }: Question,
): ProbeResult {
  const target = URL.parse(headers.location ?? '', finalUrl)
  const isSameHost = target !== null && plainHost(target) === plainHost(new URL(finalUrl))
  const isFailing = stopped.code === 'unreachable' || stopped.code === 'too-slow'
  return isSameHost && isFailing
    ? { verdict: 'refused', evidence: `${name}: ${failureOf(stopped)} after a redirect` }
    : { verdict: 'odd', evidence: `${name} redirects to a URL that cannot be asked` }
}

/** Returns the result for an answer that says nothing about the source. */
function unreadResult(answer: ProbeAnswer, { name, isJson }: Question): ProbeResult {
  const { status } = answer
  const evidence =
    status === 200 && isJson
      ? `${name} answers with something else than JSON`
      : `${name} answers ${status}`
  const isCaptcha = isJson === true && status === 200
  return {
    verdict: isRefusal(answer) || isCaptcha ? 'refused' : 'odd',
    evidence,
    ...waitOf(answer),
  }
}

/** Tells whether a host refuses the one who asks, or fails. */
export function isRefusal({ status }: Pick<ProbeAnswer, 'status'>): boolean {
  return refusals.includes(status) || status >= 500
}

/**
 * Tells whether an answer to HEAD leaves open what GET would answer: many servers do not know HEAD,
 * or answer it wrongly.
 */
export function isDoubtfulHead(answer: ProbeAnswer): boolean {
  const { status } = answer
  const refusesMethod = [401, 403, 405, 501].includes(status)
  return status !== 200 && (refusesMethod || !isRefusal(answer))
}

/** Returns how long the host wants to be left alone. */
export function waitOf({ headers }: ProbeAnswer): Pick<ProbeResult, 'retryAfterSeconds'> {
  // The clock of the host, so that a wrong one does no harm.
  const hostMs = Date.parse(headers.date ?? '')
  const nowMs = Number.isNaN(hostMs) ? Date.now() : hostMs
  const waitMs = parseRetryAfter(headers['retry-after'], nowMs, maxRetryAfterMs)
  return waitMs === undefined ? {} : { retryAfterSeconds: Math.ceil(waitMs / 1000) }
}

/** Tells whether an answer is a page for people, such as a captcha. */
export function isPage({ headers, body }: ProbeAnswer): boolean {
  const start = body.slice(0, 1000).trimStart()
  if (/^(\ufeff)?<(!doctype html|html|head|body|title|meta|script|!--)/i.test(start)) return true
  // Some servers call short plain texts HTML.
  return isHtmlType(headers['content-type']) && start.startsWith('<')
}

/** Tells whether a Content-Type is that of a page. */
export function isHtmlType(type: string | undefined): boolean {
  return /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(type ?? '')
}

/** Parses the body as JSON; of a body that was cut, the beginning. Returns undefined if it is none. */
export function parseJson({ body, isCut }: ProbeAnswer): unknown {
  const text = body.slice(0, maxJsonLength)
  const whole = isCut || body.length > maxJsonLength ? completeJson(text) : text
  try {
    return JSON.parse(whole)
  } catch {
    return undefined
  }
}

/** Ends JSON that was cut: drops the last value, which may be incomplete, and closes the rest. */
function completeJson(text: string): string {
  const open: string[] = []
  let end = 0
  let isString = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (isString) {
      if (character === '\\') index++
      else if (character === '"') isString = false
    } else if (character === '"') isString = true
    else if (character === '{' || character === '[') {
      open.push(character === '{' ? '}' : ']')
      end = index + 1
    } else if (character === '}' || character === ']') {
      open.pop()
      end = index + 1
    } else if (character === ',') end = index
  }
  return text.slice(0, end) + open.reverse().join('')
}

/** Returns a value within JSON, such as `status`, `uploadStatus`; undefined if there is none. */
export function valueAt(json: unknown, ...path: readonly string[]): unknown {
  let value = json
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** Tells whether JSON is an object and no list. */
export function isJsonObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** Returns a text within JSON, cleaned and shortened; undefined if there is none. */
export function textAt(
  json: unknown,
  maxLength: number,
  ...path: readonly string[]
): string | undefined {
  const value = valueAt(json, ...path)
  return typeof value === 'string' ? cleanText(value, maxLength) || undefined : undefined
}

/** Returns a text in one line, without control characters and broken ones, shortened. */
function cleanText(text: string, maxLength: number): string {
  const clean = text
    .slice(0, 4 * maxLength)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufffd\s]+/gu, ' ')
    .trim()
  return [...clean].slice(0, maxLength).join('').trim()
}

/** Returns an http or https URL within JSON. */
export function urlAt(json: unknown, ...path: readonly string[]): URL | undefined {
  const value = valueAt(json, ...path)
  return typeof value === 'string' ? parseUrl(value) : undefined
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const unsafeInUrl = /[\u0000-\u0020\u007f-\u009f\\]/

/** Parses an http or https URL that nobody can mistake for another one. */
export function parseUrl(text: string): URL | undefined {
  if (text.length > maxUrlLength || unsafeInUrl.test(text)) return undefined
  const url = URL.parse(text)
  const isSafe =
    url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return isSafe && url.href.length <= maxUrlLength ? url : undefined
}

/** Tells whether a URL is that of a home page, to which many sites redirect what is gone. */
export function isHome({ pathname, search }: URL): boolean {
  return /^\/(index\.\w+)?$/.test(pathname) && search === ''
}

/** Returns the name of a host without www. */
export function plainHost({ hostname }: URL): string {
  return hostname.replace(/^www\./, '')
}

const maxTitleLength = 500
const maxOwnerLength = 200

/** Returns the parts of a result that are missing if a host says nothing useful. */
export function details(found: {
  owner?: string | undefined
  title?: string | undefined
  seconds?: unknown
}): Pick<ProbeResult, 'owner' | 'title' | 'seconds'> {
  const owner = cleanText(found.owner ?? '', maxOwnerLength)
  const title = cleanText(found.title ?? '', maxTitleLength)
  const { seconds } = found
  const isLength = typeof seconds === 'number' && seconds > 0 && seconds <= maxSeconds
  return {
    ...(owner !== '' && { owner }),
    ...(title !== '' && { title }),
    ...(isLength && { seconds: Math.round(seconds) }),
  }
}

/** Returns a text that identifies a person without naming one: some hosts give mail addresses. */
export function pseudonym(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24)
}
