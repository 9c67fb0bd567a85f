import type { ProbeAnswer } from '../../platform/net/probe.ts'
import type { Ask, ProbedSource, ProbeResult } from './probe.ts'
import { askHost, isJsonObject, parseJson, textAt, valueAt } from './reading.ts'
import { lookByOembed } from './youtube.ts'

// YouTube by its Data API, with a key of the operator: one call for 50 videos. Its policy lets
// nobody keep more than verdict and day, so nothing else is asked for, except the channel.

export const maxIdsOfCall = 50

/** A source with the owner that an earlier look found. */
export interface OwnedSource extends ProbedSource {
  readonly owner?: string | undefined
}

const api = 'https://www.googleapis.com/youtube/v3'
const videos = { name: 'videos.list', isJson: true }
const channels = { name: 'channels.list', isJson: true }
const videoFields =
  'items(id,snippet(channelId),status(uploadStatus,privacyStatus,embeddable),' +
  'contentDetails(regionRestriction,contentRating(ytRating)))'

export interface ApiResults {
  /** In the order of the sources. */
  readonly results: readonly ProbeResult[]
  /** What the API answered if it refused: the results of the videos that it did not list. */
  readonly refusal: ProbeResult | undefined
}

/**
 * Looks for videos with a key. A video that is not listed costs one more request, to oEmbed, unless
 * its channel is gone.
 */
export async function lookAtMany(
  ask: Ask,
  sources: readonly OwnedSource[],
  key: string,
): Promise<ApiResults> {
  const ids = [...new Set(sources.map(({ id }) => id))]
  const results = new Map<string, ProbeResult>()
  let refusal: ProbeResult | undefined
  for (const part of partsOf(ids)) {
    refusal ??= await listVideos(ask, part, key, results)
    if (refusal) for (const id of part) if (!results.has(id)) results.set(id, refusal)
  }
  const missing = sources.filter(({ id }) => !results.has(id))
  const closed = await findClosed(ask, missing, key)
  let oembedRefusal: ProbeResult | undefined
  for (const { id, owner } of missing) {
    if (results.has(id)) continue
    if (owner !== undefined && closed.has(owner)) {
      const evidence = 'videos.list has no such video, and channels.list not its channel'
      results.set(id, { verdict: 'closed', evidence, owner })
      continue
    }
    // A host that refuses is not asked again for the others.
    const result = oembedRefusal ?? (await lookAtMissing(ask, id))
    if (result.verdict === 'refused') oembedRefusal = result
    results.set(id, result)
  }
  return { results: sources.map(({ id }) => results.get(id) as ProbeResult), refusal }
}

/** Adds the results of the videos that are listed. Returns a result if the API refuses. */
async function listVideos(
  ask: Ask,
  ids: readonly string[],
  key: string,
  results: Map<string, ProbeResult>,
): Promise<ProbeResult | undefined> {
  const query = { part: 'snippet,status,contentDetails', id: ids.join(), fields: videoFields }
  let isWhole = true
  const outcome = await askHost(ask, apiRequest('videos', query, key), videos, (answer) => {
    if (answer.status !== 200) return refusalOf(answer)
    const items = itemsOf(answer)
    if (!items) return undefined
    isWhole = !answer.isCut
    for (const item of items) {
      const id = valueAt(item, 'id')
      if (typeof id === 'string' && ids.includes(id)) results.set(id, readVideo(item))
    }
    return { verdict: 'ok', evidence: '' }
  })
  if (outcome.verdict !== 'ok') return outcome
  // An id may be in the part that was not read, so smaller parts are asked for.
  const left = isWhole ? [] : ids.filter((id) => !results.has(id))
  if (ids.length === 1 && left[0] !== undefined) {
    const evidence = 'videos.list answers with more than can be read'
    results.set(left[0], { verdict: 'odd', evidence })
    return undefined
  }
  const half = Math.ceil(left.length / 2)
  for (const part of [left.slice(0, half), left.slice(half)]) {
    const refusal = part.length > 0 ? await listVideos(ask, part, key, results) : undefined
    if (refusal) return refusal
  }
  return undefined
}

function readVideo(item: unknown): ProbeResult {
  const says = (what: string) => `videos.list says ${what}`
  const channel = textAt(item, 50, 'snippet', 'channelId')
  const owner = channel === undefined ? {} : { owner: channel }
  const upload = valueAt(item, 'status', 'uploadStatus')
  if (upload === 'deleted' || upload === 'rejected')
    return { verdict: 'removed', evidence: says(`uploadStatus ${upload}`), ...owner }
  if (upload !== undefined && upload !== 'processed' && upload !== 'uploaded')
    return { verdict: 'odd', evidence: says('another uploadStatus'), ...owner }
  if (valueAt(item, 'status', 'privacyStatus') === 'private')
    return { verdict: 'private', evidence: says('privacyStatus private'), ...owner }
  if (valueAt(item, 'status', 'embeddable') === false)
    return { verdict: 'embed-off', evidence: says('embeddable false'), ...owner }
  if (valueAt(item, 'contentDetails', 'contentRating', 'ytRating') === 'ytAgeRestricted')
    return { verdict: 'age', evidence: says('ytAgeRestricted'), ...owner }
  const region = regionOf(valueAt(item, 'contentDetails', 'regionRestriction'))
  if (region !== undefined) return { verdict: 'region', evidence: says(region), ...owner }
  return { verdict: 'ok', evidence: 'videos.list has the video', ...owner }
}

function regionOf(restriction: unknown): string | undefined {
  const blocked = valueAt(restriction, 'blocked')
  // An empty list means that it is allowed nowhere.
  const allowed = valueAt(restriction, 'allowed')
  if (Array.isArray(allowed)) return `it is allowed in ${allowed.length} countries`
  return Array.isArray(blocked) && blocked.length > 0
    ? `it is blocked in ${blocked.length} countries`
    : undefined
}

/** Returns the owners of missing videos whose channel is missing too. */
async function findClosed(
  ask: Ask,
  missing: readonly OwnedSource[],
  key: string,
): Promise<ReadonlySet<string>> {
  const owners = new Set(missing.flatMap(({ owner }) => owner ?? []))
  const closed = new Set<string>()
  const ids = [...owners].filter((owner) => /^UC[\w-]{22}$/.test(owner))
  for (const part of partsOf(ids)) {
    const query = { part: 'id', id: part.join(), fields: 'items(id)' }
    const { verdict } = await askHost(
      ask,
      apiRequest('channels', query, key),
      channels,
      (answer) => {
        const items = answer.status === 200 && !answer.isCut ? itemsOf(answer) : undefined
        if (!items) return undefined
        const found = new Set(items.map((item) => valueAt(item, 'id')))
        for (const owner of part) if (!found.has(owner)) closed.add(owner)
        return { verdict: 'ok', evidence: '' }
      },
    )
    if (verdict !== 'ok') break
  }
  return closed
}

/** Asks oEmbed about a video that is not listed: it is private, or does not exist. */
async function lookAtMissing(ask: Ask, id: string): Promise<ProbeResult> {
  const result = await lookByOembed(ask, id)
  const evidence = `videos.list has no such video, ${result.evidence}`
  const isPlausible = ['private', 'gone', 'refused'].includes(result.verdict)
  return isPlausible ? { ...result, evidence } : { verdict: 'odd', evidence }
}

function apiRequest(method: string, query: Readonly<Record<string, string>>, key: string) {
  return {
    url: `${api}/${method}?${new URLSearchParams({ ...query, maxResults: '50' })}`,
    // In a header, so that no log of URLs has it.
    headers: { accept: 'application/json', 'x-goog-api-key': key },
    maxRedirects: 0,
  }
}

function itemsOf(answer: ProbeAnswer): readonly unknown[] | undefined {
  const json = parseJson(answer)
  if (!isJsonObject(json)) return undefined
  // With `fields`, an answer without items is an empty object.
  const { items = [] } = json
  if (!Array.isArray(items)) return undefined
  // The last item may have been cut.
  return answer.isCut ? items.slice(0, -1) : items
}

/** Returns the result for an error of the API, all of which concern the key and not the videos. */
function refusalOf(answer: ProbeAnswer): ProbeResult | undefined {
  if (answer.status !== 403 && answer.status !== 400) return undefined
  const json = parseJson(answer)
  const errors = valueAt(json, 'error', 'errors')
  const reason = Array.isArray(errors) ? textAt(errors[0], 50, 'reason') : undefined
  const isQuota = /quota|limit/i.test(reason ?? '')
  if (!isJsonObject(json)) return undefined
  const evidence = isQuota
    ? 'videos.list answers that the quota is used up'
    : `videos.list answers ${answer.status} to the key`
  return { verdict: 'refused', evidence }
}

function partsOf(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / maxIdsOfCall)
  return Array.from({ length: count }, (_, index) =>
    ids.slice(index * maxIdsOfCall, (index + 1) * maxIdsOfCall),
  )
}
