import assert from 'node:assert/strict'
import { type AtRiskReport, type Fact, maxAtRiskRows } from '@talkshelf/contract'
import type { Query } from './invariants.ts'

// What is at risk, by a plain scan of all records and facts.

/** Who operates a host, by the rules that the page states. */
function operatorOf(url: string): string | undefined {
  if (!/^https?:/i.test(url) || url.length > 2048) return undefined
  const host = URL.parse(url)?.hostname.replace(/\.$/, '')
  if (!host?.includes('.')) return undefined
  if (host === 'youtu.be') return 'youtube.com'
  const labels = host.split('.')
  return labels.slice(/github\.io$|\.(ac\.uk|org\.au)$/.test(host) ? -3 : -2).join('.')
}

const missing: readonly string[] = ['unreachable', 'gone', 'private', 'removed', 'closed']

interface Scanned {
  readonly id: number
  readonly event: string
  readonly available: ReadonlySet<string>
  readonly unavailable: ReadonlySet<string>
  readonly keys: ReadonlySet<string>
}

/** Reads all live talks with the states of what they name. */
export async function scanTalks(query: Query): Promise<Scanned[]> {
  const rows = (await query(
    `select video.id::int, title, facts,
            (select category.title from category where category.id = category_id) as event,
            array[source_url, video_mp4_url, video_webm_url, video_ogv_url, video_flv_url] as urls
     from video
     left join video_facts using (id)
     where state = 1 and taken_down is null
     order by video.id`,
  )) as unknown as { id: number; event: string; urls: (string | null)[]; facts: Fact[] | null }[]
  const named = rows.map(({ urls, facts }) => [
    ...urls.filter((url) => url !== null),
    ...(facts ?? []).flatMap((fact) =>
      fact.kind === 'media' || fact.kind === 'part' ? [fact.url] : [],
    ),
  ])
  const stateRows = (await query(
    `select address as url, source_key(address) as key, source.state
     from unnest($1::text[]) as named (address)
     left join source on source.key = source_key(address)`,
    [[...new Set(named.flat())]],
  )) as unknown as { url: string; key: string; state: string | null }[]
  const byUrl = new Map(stateRows.map((row) => [row.url, row]))
  return rows.map(({ id, event }, index) => {
    const sources = (named[index] ?? []).flatMap((url) => {
      const operator = operatorOf(url)
      const { key = '', state = null } = byUrl.get(url) ?? {}
      if (operator === undefined) return []
      assert.ok(state !== null, `${url} has no source`)
      return [{ operator, key, isMissing: missing.includes(state) }]
    })
    const operators = (isMissing: boolean) =>
      new Set(sources.filter((it) => it.isMissing === isMissing).map(({ operator }) => operator))
    return {
      id,
      event,
      available: operators(false),
      unavailable: operators(true),
      keys: new Set(sources.map(({ key }) => key)),
    }
  })
}

export const isLost = ({ available, unavailable }: Scanned) =>
  available.size === 0 && unavailable.size > 0

/** Computes the report of what is at risk. */
export async function scanAtRisk(query: Query): Promise<AtRiskReport> {
  const talks = await scanTalks(query)
  const count = (test: (talk: Scanned) => boolean) => talks.filter(test).length
  const keys = new Set(talks.flatMap((talk) => [...talk.keys]))
  const checked = (await query(
    `select key
     from source
     where last_check is not null and not (state = 'suspect' and last_good is null)`,
  )) as unknown as { key: string }[]
  const operators = new Set(
    talks.flatMap(({ available, unavailable }) => [...available, ...unavailable]),
  )
  const categories = (await query('select id::int, title, slug from category')) as unknown as {
    id: number
    title: string
    slug: string
  }[]
  return {
    talks: talks.length,
    sources: keys.size,
    checked: checked.filter(({ key }) => keys.has(key)).length,
    unavailable: count(isLost),
    by_operators: [0, 1, 2, 3, 4].map((number) => ({
      operators: number,
      talks: count(({ available }) => Math.min(available.size, 4) === number),
    })),
    hosts: [...operators]
      .map((operator) => ({
        operator,
        talks: count((talk) => talk.available.has(operator) || talk.unavailable.has(operator)),
        only: count(({ available }) => available.size === 1 && available.has(operator)),
        unavailable: count(
          ({ available, unavailable }) => unavailable.has(operator) && !available.has(operator),
        ),
      }))
      .sort((a, b) => b.only - a.only || b.talks - a.talks || (a.operator < b.operator ? -1 : 1))
      .slice(0, maxAtRiskRows),
    events: categories
      .map((category) => {
        const own = talks.filter(({ event }) => event === category.title)
        return {
          category,
          talks: own.length,
          single: own.filter(({ available }) => available.size < 2).length,
          unavailable: own.filter(isLost).length,
        }
      })
      .filter(({ single }) => single > 0)
      .sort(
        (a, b) =>
          b.unavailable - a.unavailable || b.single - a.single || a.category.id - b.category.id,
      )
      .slice(0, maxAtRiskRows),
    losses: await scanLosses(query),
  }
}

/** Counts the changes of sources, except of those that only drafts and the like have. */
async function scanLosses(query: Query): Promise<AtRiskReport['losses']> {
  const changes = (await query(
    `select to_char(at at time zone 'UTC', 'YYYY-MM') as month, before ->> 'state' as before,
            after ->> 'state' as after,
            array(select state = 1 and taken_down is null
                  from video_source
                  join video on video.id = video_id
                  where source_id = subject_id) as live
     from change
     where subject = 'source'`,
  )) as unknown as { month: string; before: string; after: string; live: boolean[] }[]
  const away = ['gone', 'private', 'removed', 'closed']
  const months = new Map<string, { month: string; lost: number; returned: number }>()
  for (const { month, before, after, live } of changes) {
    const [was, is] = [away.includes(before), away.includes(after)]
    if (was === is || (live.length > 0 && !live.includes(true))) continue
    const counts = months.get(month) ?? { month, lost: 0, returned: 0 }
    counts[is ? 'lost' : 'returned']++
    months.set(month, counts)
  }
  return [...months.values()].sort((a, b) => (a.month < b.month ? -1 : 1)).slice(-24)
}
