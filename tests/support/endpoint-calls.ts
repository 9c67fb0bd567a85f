import assert from 'node:assert/strict'
import type { Endpoint } from '@talkshelf/contract'
import { proposeReplacement } from '../../server/links/links.ts'
import { playlistJson, scheduleJson } from './conference.ts'
import { feedIsComplete } from './feed-replay.ts'
import { category, type TestArchive } from './harness.ts'
import { withDatabase } from './invariants.ts'
import { blackPng } from './picture-archive.ts'

// A valid call of every endpoint. Tests that visit all endpoints of the contract use it, so that a
// new endpoint needs at most an entry here: a body, or the value of a new path parameter.

export interface EndpointCall {
  readonly params: Readonly<Record<string, string>>
  /** A Buffer is the body of an endpoint that takes a file. */
  readonly body?: object
}

const bodies: Readonly<Record<string, (id: number, other: number) => object>> = {
  replaceVideo: () => ({ title: 'Replaced', category, language: 'English' }),
  patchVideo: () => ({ summary: 'Patched' }),
  createVideo: () => ({ title: 'Created', category, language: 'English' }),
  revertRevision: () => ({ fields: ['title'] }),
  schedulePublication: () => ({ publish_at: null }),
  mergeVideo: (_, other) => ({ into: other }),
  takeDownVideo: () => ({ reason: 'The speaker asked for it' }),
  createCategory: (id) => ({ title: `Created ${id}` }),
  patchCategory: () => ({ description: 'Patched' }),
  mergeCategory: () => ({ into: 'example-days-2026' }),
  uploadPicture: () => blackPng(16),
  patchSpeaker: () => ({ aliases: [{ name: 'A. L.' }] }),
  splitSpeaker: (id) => ({ name: `Another ${id}`, videos: [id] }),
  mergeSpeaker: () => ({ into: 'ada' }),
  patchTag: () => ({ aliases: [{ name: 'lines' }] }),
  mergeTag: () => ({ into: 'queues' }),
  replaceFacts: () => ({ facts: [{ kind: 'address', path: 'old/1' }] }),
  patchSource: () => ({ pin: { state: 'gone', until: '2999-12-31' } }),
  replaceSynonyms: (id) => ({ groups: [['synonym', `term ${id}`]] }),
  createImport: (id) => importOf(`Imported ${id}`),
  createEdit: (id) => ({
    filter: { ids: [id] },
    operations: [{ op: 'set', field: 'copyright_text', value: `Licence ${id}` }],
  }),
  createFollowedSource: () => followedSource,
  patchFollowedSource: () => ({ interval_hours: 48 }),
  createMatch: () => conference(),
  decideMatch: () => ({ verdict: 'no-recording', talk: 'f' }),
  decideTalk: () => ({ take: ['title'] }),
  decideFields: () => ({ take: 'mine' }),
  invitePerson: (id) => ({ name: `Person ${id}`, mail: `p${id}@example.org`, role: 'editor' }),
  patchPerson: (id) => ({ name: `Renamed ${id}` }),
  createSuggestion: (id) => ({ kind: 'correction', video: id, comment: `Wrong ${id}` }),
  acceptSuggestion: () => ({}),
  declineSuggestion: () => ({ reason: 'not-verified' }),
  createWebhook: () => webhook,
  patchWebhook: () => ({ filter: { kind: 'video' } }),
  replayWebhook: () => ({ since: '0' }),
  enableWebhook: () => ({ from: 'now' }),
}

/** Its ping fails at once: the address is not public. */
const webhook = { url: 'https://127.0.0.1/' }

/** Its fetch fails at once: the address is not public. */
const followedSource = { url: 'https://127.0.0.1/schedule.json' }

const conference = () => ({
  schedule: { text: scheduleJson() },
  playlist: { text: playlistJson() },
})

const importOf = (title: string) => ({
  text: `title\n${title}\n`,
  format: 'csv',
  category,
  language: 'en',
})

/**
 * Creates what the endpoint needs, a record and for some an entity or an import, and returns the
 * input of a call that succeeds once. Fails with a hint if a value is missing.
 */
export async function prepareCall(archive: TestArchive, endpoint: Endpoint): Promise<EndpointCall> {
  const { id } = await archive.make({ speakers: ['Ada'], tags: ['queues'] })
  const { id: other } = endpoint.name === 'mergeVideo' ? await archive.make() : { id }
  const [, , , kind = ''] = endpoint.path.split('/')
  const slugs: Record<string, string> = {
    category: 'example-days-2026',
    speaker: 'ada',
    tag: 'queues',
  }
  // A merge removes the entity, so each call merges a new one.
  if (/^(un)?merge(Category|Speaker|Tag)$/.test(endpoint.name)) {
    const into = slugs[kind] ?? ''
    slugs[kind] = await createEntity(archive, kind, id)
    if (endpoint.name.startsWith('unmerge'))
      await archive.call('POST', `/api/v2/${kind}/${slugs[kind]}/merge`, {
        token: archive.editor,
        body: { into },
      })
  }
  const isRevert = endpoint.name === 'revertRevision'
  // The revision that created a record cannot be reverted.
  if (isRevert)
    await archive.call('PATCH', `/api/v2/video/${id}`, {
      token: archive.editor,
      body: { title: 'Changed' },
    })
  const values: Record<string, string> = {
    id: String(await idFor(archive, kind, id, endpoint.name)),
    revision: isRevert ? '2' : '1',
    slug: slugs[kind] ?? '',
    rule: 'no-licence',
    position: '1',
  }
  const hint = 'to tests/support/endpoint-calls.ts'
  const params = Object.keys(endpoint.params ?? {}).map((name) => {
    const value = values[name]
    assert.ok(value, `${endpoint.name} has {${name}} in its path: add a value for it ${hint}`)
    return [name, value] as const
  })
  const body = bodies[endpoint.name]?.(id, other)
  if (endpoint.body) assert.ok(body, `${endpoint.name} takes a body: add one ${hint}`)
  return { params: Object.fromEntries(params), ...(endpoint.body && body && { body }) }
}

/**
 * Returns the id in the path of an endpoint: of a record, or a new import, match, webhook, followed
 * source, suggestion, source, replacement or person.
 */
async function idFor(archive: TestArchive, kind: string, id: number, endpointName: string) {
  if (kind === 'import') return createImport(archive, id, endpointName)
  if (kind === 'match') return createMatch(archive, endpointName)
  if (kind === 'webhook') return createWebhook(archive, endpointName)
  if (kind === 'followed-source') return createFollowedSource(archive)
  if (kind === 'suggestion') return createSuggestion(archive, id, endpointName)
  if (kind === 'source') return createSource(archive, id)
  if (kind === 'replacement') return createReplacement(archive, id)
  if (kind !== 'person') return id
  const body = { name: `Invited ${id}`, role: 'editor' }
  const { json } = await archive.call('POST', '/api/v2/person', { token: archive.admin, body })
  return json.person.id as number
}

/** Returns the path of a call, with the values of its parameters. */
export function callPath({ path }: Endpoint, params: Readonly<Record<string, unknown>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(params[name]))
}

async function createEntity(archive: TestArchive, kind: string, id: number): Promise<string> {
  const name = `${kind} ${id}`
  if (kind === 'category')
    await archive.call('POST', '/api/v2/category', { token: archive.editor, body: { title: name } })
  else await archive.make({ [`${kind}s`]: [name] })
  return `${kind}-${id}`
}

/** Creates a webhook in a state in which the endpoint can be called. */
async function createWebhook(archive: TestArchive, endpointName: string): Promise<number> {
  const { admin, call, databaseUrl } = archive
  await feedIsComplete(archive)
  // There is a limit.
  await withDatabase(databaseUrl, (query) =>
    query('delete from webhook where id <= (select max(id) - 20 from webhook)'),
  )
  const { json } = await call('POST', '/api/v2/webhook', { token: admin, body: webhook })
  const { id } = json.webhook
  if (endpointName === 'enableWebhook')
    await withDatabase(databaseUrl, (query) =>
      query(`update webhook set state = 'disabled' where id = ${id}`),
    )
  return id
}

/** Creates a followed source. */
async function createFollowedSource({ editor, call, databaseUrl }: TestArchive): Promise<number> {
  // There is a limit.
  await withDatabase(databaseUrl, (query) =>
    query('delete from followed_source where id <= (select max(id) - 20 from followed_source)'),
  )
  const reply = await call('POST', '/api/v2/followed-source', {
    token: editor,
    body: followedSource,
  })
  return reply.json.id
}

/** Creates a suggestion in a state in which the endpoint can be called. */
async function createSuggestion(
  { call, editor }: TestArchive,
  video: number,
  endpointName: string,
): Promise<number> {
  const body = { kind: 'correction', video, fields: { title: `Corrected ${video}` } }
  const { json } = await call('POST', '/api/v2/suggestion', { token: editor, body })
  const { id } = json
  if (endpointName === 'reopenSuggestion')
    await call('POST', `/api/v2/suggestion/${id}/accept`, { token: editor, body: {} })
  return id
}

/** Gives a record a source of its own. */
async function createSource({ call, editor }: TestArchive, video: number): Promise<number> {
  const body = { source_url: `https://videos.example/${video}` }
  await call('PATCH', `/api/v2/video/${video}`, { token: editor, body })
  const { json } = await call('GET', `/api/v2/video/${video}/sources`)
  return json.results[0].id
}

/** Proposes a copy for a source of a record. */
async function createReplacement(archive: TestArchive, video: number): Promise<number> {
  const source = await createSource(archive, video)
  const url = `https://copies.example/${video}`
  await proposeReplacement(archive.pool, { source, url, finder: 'wayback', evidence: null })
  const { json } = await archive.call('GET', `/api/v2/replacement?video=${video}`, {
    token: archive.editor,
  })
  return json.results[0].id
}

/** Creates a match in a state in which the endpoint can be called. */
async function createMatch({ call, editor }: TestArchive, endpointName: string): Promise<number> {
  const { json } = await call('POST', '/api/v2/match', { token: editor, body: conference() })
  const decision = { verdict: 'no-recording', talk: 'f' }
  if (endpointName === 'undoMatchDecision')
    await call('POST', `/api/v2/match/${json.id}/decision`, { token: editor, body: decision })
  return json.id
}

/** Creates an import in a state in which the endpoint can be called. */
async function createImport(
  archive: TestArchive,
  number: number,
  endpointName: string,
): Promise<number> {
  const body = importOf(`Stopped ${number}`)
  const { json } = await archive.call('POST', '/api/v2/import', { token: archive.editor, body })
  await prepareImport(archive, json.id, endpointName)
  return json.id
}

/** Sets the state of an import, whatever it is, to one in which the endpoint can be called. */
export async function prepareImport(
  { databaseUrl }: TestArchive,
  id: number,
  endpointName: string,
): Promise<void> {
  // A stopped import can be applied, stopped or undone.
  const states: Record<string, string> = { redoImport: 'undone', discardImport: 'planned' }
  const state = states[endpointName] ?? 'stopped'
  await withDatabase(databaseUrl, (query) =>
    query(`update import set state = '${state}' where id = ${id}`),
  )
}
