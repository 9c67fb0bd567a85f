import type { ProbeAnswer } from '../../platform/net/probe.ts'
import type { Ask, Probe, ProbedSource, ProbeResult } from './probe.ts'
import {
  askHost,
  details,
  isHome,
  isJsonObject,
  parseJson,
  pseudonym,
  textAt,
  valueAt,
} from './reading.ts'

// Items of archive.org, and files in them, by its metadata API.

/** Returns the source of a URL of archive.org: an item, with a file if the URL has one. */
export function archiveOrgSource(url: URL): ProbedSource | undefined {
  if (!/^(www\.)?archive\.org$/.test(url.hostname)) return undefined
  const [, view = '', id, rest = ''] =
    /^\/(details|embed|download)\/([\w.-]{1,200})(?:\/(.+))?$/.exec(url.pathname) ?? []
  if (id === undefined) return undefined
  // Pages of an item have paths too, such as /page/n5.
  const isFile = view === 'download' ? rest !== '' : /\.\w{2,5}$/.test(rest)
  const part = isFile ? { part: rest } : {}
  return { kind: 'archive.org', host: 'archive.org', id, url: url.href, ...part }
}

const name = 'The metadata'

export const archiveOrg: Probe = {
  async look(ask, source) {
    const { id, part } = source
    return askMetadata(ask, id, (answer) => {
      const json = parseJson(answer)
      if (Array.isArray(json) && json.length === 0)
        return { verdict: 'gone', evidence: `${name} of the item is empty` }
      if (!isJsonObject(json)) return undefined
      if (Object.keys(json).length === 0 && !answer.isCut)
        return { verdict: 'gone', evidence: `${name} of the item is empty` }
      if (json.is_dark === true)
        return { verdict: 'removed', evidence: `${name} says that the item is dark` }
      const files = fileNames(json)
      if (!files && !isJsonObject(json.metadata)) return undefined
      const uploader = textAt(json, 300, 'metadata', 'uploader')
      const found = details({
        // The uploader is a mail address.
        owner: uploader && pseudonym(uploader),
        title: textAt(json, 500, 'metadata', 'title'),
      })
      const evidence = `${name} has the item`
      if (part === undefined) return { verdict: 'ok', evidence, ...found }
      if (hasFile(files ?? [], part))
        return { verdict: 'ok', evidence: `${name} has the file`, ...found }
      // The file may be in the part that was not read.
      if (answer.isCut) return askDownload(ask, source)
      return { verdict: 'gone', evidence: `${evidence}, but not the file`, ...found }
    })
  },

  witness: (ask, source) => askDownload(ask, source),
}

/** Asks for the metadata of an item. */
function askMetadata(
  ask: Ask,
  id: string,
  read: (answer: ProbeAnswer) => ProbeResult | undefined | Promise<ProbeResult | undefined>,
): Promise<ProbeResult> {
  const url = `https://archive.org/metadata/${id}`
  const request = { url, headers: { accept: 'application/json' } }
  return askHost(ask, request, { name, isJson: true }, (answer) =>
    answer.status === 200 ? read(answer) : undefined,
  )
}

/** Returns the names of the files of an item; undefined if the metadata have no list of them. */
export function fileNames(json: unknown): string[] | undefined {
  const files = valueAt(json, 'files')
  if (!Array.isArray(files)) return undefined
  return files.flatMap((file) => {
    const fileName = valueAt(file, 'name')
    return typeof fileName === 'string' ? [fileName] : []
  })
}

/** Tells whether one of the files is meant by the path of a URL. Some are encoded twice. */
function hasFile(files: readonly string[], part: string): boolean {
  const once = decode(part)
  const names = new Set([part, once, decode(once)])
  return files.some((file) => names.has(file) || names.has(decode(file)))
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function askDownload(ask: Ask, { id, part }: ProbedSource): Promise<ProbeResult> {
  const url = `https://archive.org/download/${id}${part === undefined ? '' : `/${part}`}`
  const question = { name: 'The download', mayMove: true }
  return askHost(ask, { url, method: 'HEAD' }, question, ({ status, finalUrl }) => {
    const evidence = `The download answers ${status}`
    if (isHome(new URL(finalUrl)))
      return { verdict: 'odd', evidence: 'The download redirects to the home page' }
    if (status === 200 || status === 206) return { verdict: 'ok', evidence }
    if (status === 404 || status === 410) return { verdict: 'gone', evidence }
    // It is the answer for items that were made dark.
    return status === 403 ? { verdict: 'removed', evidence } : undefined
  })
}
