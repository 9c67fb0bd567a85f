import assert from 'node:assert/strict'
import type { SourceState } from '@talkshelf/contract'
import { startLinkChecks } from '../../server/links/links.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { type Query, withDatabase } from '../support/invariants.ts'
import { answerNamed, type HostAnswer } from './answers.ts'
import { type Answer, answerOn, type Life, type Role } from './lives.ts'
import { type HostFault, type ScriptDay, startWorld, type World } from './world.ts'

// Plays the lives of sources through the real checker: with PostgreSQL, HTTP, TLS and the fake
// world, and a clock that moves on to what is due next.

/** Of the sources of a life so many at most: each look is several requests. */
const maxSubjects = 120
const maxOthers = 40

const dayMs = 24 * 3_600_000
const startMs = Date.UTC(2026, 0, 1)

interface LifeSource {
  readonly role: Role
  readonly host: string
  readonly url: string
}

export interface PlayedLife {
  readonly sources: number
  readonly requests: number
}

/** Plays a life. Throws if a source ends in another way than it tells. */
export async function playThroughWorld(life: Life, databaseUrl: string): Promise<PlayedLife> {
  let nowMs = startMs
  const clock = {
    now: () => nowMs,
    async sleep(ms: number) {
      nowMs += ms
    },
  }
  const world = await startWorld(clock.now)
  const sources = addToWorld(world, life)
  const pool = openPool({ url: databaseUrl, connections: 10, applicationName: 'links' })
  const errors: unknown[] = []
  const checks = startLinkChecks(pool, {
    everyMs: 0,
    userAgent: () => 'Talkshelf/0 (+https://talks.example)',
    youtubeKey: life.periods.some(({ answer }) => answer === 'region') ? 'key' : undefined,
    guard: world.guard,
    clock,
    budget: life.budget,
    onChecked() {},
    onError: (error) => errors.push(error),
  })
  try {
    return await withDatabase(databaseUrl, async (query) => {
      await insertSources(query, sources, startMs)
      const subjects = sources.filter(({ role }) => role === 'subject')
      const urlsOf = (all: readonly LifeSource[]) => all.map(({ url }) => url)

      async function runUntil(endMs: number): Promise<void> {
        for (;;) {
          const next = await nextDue(query, nowMs)
          if (next === undefined || next > endMs) break
          nowMs = Math.max(nowMs, next)
          await checks.drain()
          if (errors.length > 0) throw errors[0]
        }
        nowMs = Math.max(nowMs, endMs)
      }

      const events = [
        ...life.checks.map((day) => ({
          day,
          act: () => makeDue(query, urlsOf(life.checksAll ? sources : subjects), nowMs),
        })),
        ...(life.on ?? []).map(({ day, state, goodSince = 0 }) => ({
          day,
          act: () => assertStates(query, urlsOf(subjects), state, startMs + goodSince * dayMs),
        })),
      ].sort((a, b) => a.day - b.day)
      for (const { day, act } of events) {
        await runUntil(startMs + day * dayMs)
        await act()
      }
      await runUntil(startMs + life.days * dayMs)

      await assertHistories(query, life, sources)
      assertBudget(world, life)
      return { sources: sources.length, requests: world.requests.length }
    })
  } finally {
    await checks.stop()
    await pool.close()
    await world.close()
  }
}

/** Adds the sources of a life to the world, with what they answer. Returns them. */
function addToWorld(world: World, life: Life): LifeSource[] {
  const { kind } = life
  const others = Math.min(life.others, maxOthers)
  const roles: readonly Role[] = [
    ...Array.from({ length: Math.min(life.subjects, maxSubjects) }, () => 'subject' as const),
    ...Array.from({ length: others }, (_, index) =>
      index % 2 === 0 ? ('other' as const) : ('other in the half' as const),
    ),
    ...Array.from({ length: life.otherHosts }, () => 'other host' as const),
  ]
  const sources = roles.map((role, number): LifeSource => {
    const isElsewhere = role === 'other host'
    const host = isElsewhere ? `host${number}.example.org` : hostOf(kind)
    const video = {
      kind: isElsewhere ? ('file' as const) : kind,
      id: `T${String(number).padStart(10, '0')}`,
      owner: channel(role === 'subject' ? 'owner' : `other${number}`),
      ...((kind === 'file' || isElsewhere) && { host }),
    }
    return { role, host, url: world.script(video, scriptOf(life, role, video.kind)) }
  })
  for (const { from, to, who, answer } of life.periods) {
    const fault = faults[answer]
    if (!fault) continue
    const days = [{ fromDay: from, ...(Number.isFinite(to) && { toDay: to }), fault }]
    if (who === 'everything') world.hostDays('*', days)
    else for (const host of [hostOf(kind), 'img.youtube.com']) world.hostDays(host, days)
  }
  return sources
}

const hostOf = (kind: Life['kind']) =>
  kind === 'youtube' ? 'www.youtube.com' : 'files.example.org'
const channel = (name: string) => `UC${name.padEnd(22, '0')}`

/** What a host does to every request, where that is no answer. */
const faults: Readonly<Partial<Record<Answer, HostFault>>> = {
  'bad-certificate': 'expired-certificate',
  nothing: 'refuses-connections',
}

const named: Readonly<Record<Life['kind'], Readonly<Partial<Record<Answer, string>>>>> = {
  youtube: {
    fine: 'youtube: 200',
    unauthorized: 'youtube: 401',
    forbidden: 'youtube: 403',
    'not-found': 'youtube: 404',
    html: 'youtube: captcha with 200',
    region: 'videos.list: blocked in countries',
  },
  file: {
    fine: 'file: 200',
    'not-found': 'file: 404',
    html: 'file: page with 200',
    elsewhere: 'file: moved to another host',
  },
}

/** Returns what a source answers from which day on. */
function scriptOf(life: Life, role: Role, kind: Life['kind']): ScriptDay[] {
  const days = new Set([0, ...life.periods.flatMap(({ from, to }) => [from, to])])
  return [...days].filter(Number.isFinite).map((fromDay) => {
    const answer = answerOn(life, fromDay, role, false)
    const witness = answerOn(life, fromDay, role, true)
    return { fromDay, answer: composed(kind, answer, witness) }
  })
}

/** Returns an answer of the table, with a thumbnail that is there or not. */
function composed(kind: Life['kind'], answer: Answer, witness: Answer): HostAnswer {
  const name = named[kind][faults[answer] ? 'fine' : answer]
  assert.ok(name, `a ${kind} has no answer ${answer}`)
  const base = answerNamed(name)
  if (kind !== 'youtube') return base
  const status = witness === 'fine' ? 200 : 404
  const thumbnail = { status, headers: { 'content-type': 'image/jpeg' } }
  const replies = { ...base.replies, 'https://img.youtube.com/vi/{id}/0.jpg': thumbnail }
  return { ...base, replies }
}

/** Replaces all talks by one for each of these sources, which is due within an hour of `atMs`. */
export async function insertSources(
  query: Query,
  sources: readonly Pick<LifeSource, 'url'>[],
  atMs: number,
): Promise<void> {
  await query('truncate video, category, source, link_host, change cascade')
  await query(`insert into category (id, slug, title) values (1, 'days', 'Days')`)
  await query(
    `insert into video (id, revision, slug, state, category_id, language_id, speaker_ids, tag_ids,
                        title, summary, description, quality_notes, copyright_text, embed,
                        video_ogv_download_only, video_mp4_download_only,
                        video_webm_download_only, video_flv_download_only, whiteboard, added,
                        updated, source_url)
     select n, 1, 'talk-' || n, 1, 1, (select id from language where code = 'en'), '{}', '{}',
            'Talk ' || n, '', '', '', '', '', false, false, false, false, '', now(), now(), url
     from unnest($1::text[]) with ordinality as talk (url, n)`,
    [sources.map(({ url }) => url)],
  )
  await query(
    `update source
     set since = to_timestamp($1), next_check = to_timestamp($1) + random() * interval '1 hour'`,
    [atMs / 1000],
  )
  const [row] = await query('select count(*)::int as count from source')
  assert.equal(row?.count, sources.length)
}

/** Returns when a source is due next that may be checked then. */
async function nextDue(query: Query, nowMs: number): Promise<number | undefined> {
  const [row] = await query(
    `select (extract(epoch from min(least(
              greatest(due, next_turn),
              greatest(due, to_timestamp((pace ->> 'refusingSince')::bigint / 1000.0)
                            + interval '1 day 1 second')))) * 1000)::float as next
     from (select host, min(next_check) as due from source group by host) as first
     left join link_host using (host)`,
  )
  const next = row?.next as unknown as number | null
  if (next === null) return undefined
  // After a stop of all checks, the sources that were due still are.
  return Math.max(Math.ceil(next), nowMs + 60_000)
}

async function makeDue(query: Query, urls: readonly string[], nowMs: number): Promise<void> {
  await query('update source set next_check = to_timestamp($2) where url = any ($1)', [
    urls,
    nowMs / 1000,
  ])
}

async function assertStates(
  query: Query,
  urls: readonly string[],
  state: SourceState,
  goodSinceMs: number,
): Promise<void> {
  const rows = await query(
    `select url, state, (extract(epoch from last_good) * 1000)::float as good
     from source
     where url = any ($1)`,
    [urls],
  )
  assert.equal(rows.length, urls.length)
  for (const row of rows as unknown as { url: string; state: string; good: number }[]) {
    assert.equal(row.state, state, row.url)
    assert.ok(row.good >= goodSinceMs, `${row.url} was last good before`)
  }
}

/** Compares the public states in the history with those that the life tells. */
async function assertHistories(
  query: Query,
  life: Life,
  sources: readonly LifeSource[],
): Promise<void> {
  const rows = await query(
    `select url, source.state,
            array(select after ->> 'state'
                  from change
                  where subject = 'source' and subject_id = source.id
                  order by revision) as states
     from source`,
  )
  const found = new Map(
    (rows as unknown as { url: string; state: string; states: string[] }[]).map((row) => [
      row.url,
      row,
    ]),
  )
  const shown = life.states.filter((state) => state !== 'suspect')
  const expected = shown.filter((state, index) => state !== shown[index - 1])
  const allowed = new Set<string>(
    life.periods.some(({ who }) => who !== 'subjects') ? life.states : ['ok'],
  )
  for (const { role, url } of sources) {
    const row = found.get(url)
    assert.ok(row)
    if (role === 'subject') {
      assert.deepEqual(row.states, expected, url)
      assert.equal(row.state, life.states.at(-1), url)
    } else for (const state of row.states) assert.ok(allowed.has(state), `${url} became ${state}`)
  }
}

function assertBudget(world: World, { kind, budget = 10_000 }: Life): void {
  const days = new Map<number, number>()
  for (const { host, virtualMs } of world.requests)
    if (host === hostOf(kind)) {
      const day = Math.floor(virtualMs / dayMs)
      days.set(day, (days.get(day) ?? 0) + 1)
    }
  assert.ok(Math.max(...days.values()) <= budget, 'the budget of a day was exceeded')
}
