import { hash } from 'node:crypto'
import {
  type FieldError,
  invalidFields,
  maxSuggestedBytes,
  Problem,
  type SuggestedFields,
  SuggestionInput,
  type SuggestionKind,
  states,
  type Video,
  VideoPatch,
  validate,
  validationErrors,
} from '@talkshelf/contract'
import { hashSecret, makeSecret } from '../auth/auth.ts'
import { currentNames, haveLiveTalks, resolveNames } from '../entities/entities.ts'
import { takeLock } from '../platform/db/advisory-lock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { canonicalJson } from '../platform/http/json.ts'
import {
  findBodiesById,
  findRevision,
  normalizeVideoInput,
  removeFormerNames,
} from '../videos/videos.ts'
import { countNewLinks } from './compare.ts'
import {
  assertNetworkMaySend,
  assertQueueHasRoom,
  type DayKeys,
  hashNames,
  hashNetwork,
  isFlooded,
  isQueueFull,
  lacksProofOfWork,
  manyLinks,
  nameFields,
  readForm,
  readKeys,
  type SentForm,
  signForm,
} from './limits.ts'
import {
  findByForm,
  findSame,
  findTarget,
  insertSender,
  insertSuggestion,
  type KeptIds,
  lockRecords,
  type NewSuggestion,
  readUsage,
  type StoredFields,
} from './queries.ts'

// Receives suggestions: validates them, applies the limits and stores them.

export interface SentSuggestion {
  readonly id: number
  /** Undefined if the same suggestion is open: only its author knows the secret. */
  readonly secret: string | undefined
}

interface Sender {
  /** Undefined for editors and speakers: they have no limits of a network. */
  readonly network: string | undefined
  /** Undefined for calls of the API. */
  readonly form: (SentForm & { readonly inputHash: Buffer }) | undefined
}

/**
 * Receives a suggestion without a form. `network` is undefined for editors and speakers. Drafts are
 * in the history: only those who see them may refer to them.
 */
export async function createSuggestion(
  pool: Pool,
  body: unknown,
  { network, seesDrafts }: { readonly network: string | undefined; readonly seesDrafts: boolean },
): Promise<SentSuggestion> {
  const sender = { network, form: undefined }
  const read = () => readInput(pool, body, { seesDrafts })
  const sent = await store(pool, sender, await readKeys(pool), read)
  if (sent === 'expired') throw new Error('Only a form can expire')
  return sent
}

/** The state of a form. */
export interface OpenForm {
  readonly token: string
  readonly asksProofOfWork: boolean
  readonly isFull: boolean
}

/**
 * Signs a form about the current version of a record, or about a missing talk. A form that was
 * refused keeps its token, which is old enough by now. If it has expired or was used, the new token
 * has the revision of the old one, because what the reader did not change is from that revision,
 * unless that is not public any more.
 */
export async function openForm(
  pool: Pool,
  current: { readonly video: Video; readonly revision: number } | undefined,
  sentToken = '',
): Promise<OpenForm> {
  const video = current?.video.id ?? null
  const keys = await readKeys(pool)
  const usage = await readUsage(pool.lookups, video, [])
  const isFull = isQueueFull(usage)
  const sent = readForm(keys, video, { token: sentToken, proofOfWork: '' })
  const isUsable =
    sent && (video === null || (await findShown(pool.lookups, video, sent.revision)) !== undefined)
  const isNew = isUsable && sent.state !== 'expired'
  if (isNew && !(await findByForm(pool.lookups, sent.hash)))
    return { token: sentToken, asksProofOfWork: sent.asksProofOfWork, isFull }
  const asksProofOfWork = isFlooded(usage)
  const revision = (isUsable ? sent?.revision : undefined) ?? current?.revision ?? 0
  // What was typed is in the form that is sent again, so the names are those of the first one.
  const namesHash = sent?.namesHash ?? hashNames(current?.video ?? {})
  const token = signForm(keys, { video, revision, asksProofOfWork, namesHash })
  return { token, asksProofOfWork, isFull }
}

/** A form that a reader sent. */
export interface FormInput {
  /** The record that the form is about, or null for a missing talk. */
  readonly video: number | null
  readonly network: string
  readonly token: string
  readonly proofOfWork: string
  /** All that was typed, as one text. */
  readonly typed: string
}

/**
 * Receives a suggestion by a form. `inputFor` returns what is suggested, given the version that the
 * form showed. Returns `expired` or `too-fast` if the form is not accepted. A form that is sent a
 * second time has no effect and returns what the first time did; with another text it is expired.
 * So is a form of a version that no longer exists, or is not public: another one may have its
 * number after a restore from a backup.
 */
export async function sendForm(
  pool: Pool,
  { video, network, token, proofOfWork, typed }: FormInput,
  inputFor: (shown: Video | undefined) => SuggestionInput,
): Promise<SentSuggestion | 'expired' | 'too-fast'> {
  const keys = await readKeys(pool)
  const form = readForm(keys, video, { token, proofOfWork })
  if (!form || form.state === 'expired') return 'expired'
  if (form.state === 'too-fast') return 'too-fast'
  const sender = { network, form: { ...form, inputHash: form.hashInput(typed) } }
  const { revision } = form
  return store(pool, sender, keys, async () => {
    if (video === null) return readInput(pool, inputFor(undefined), { seesDrafts: false })
    const shown = await findShown(pool.lookups, video, revision)
    if (!shown) return 'expired'
    const input = withoutRenamed(inputFor(shown), form)
    return readInput(pool, input, { seesDrafts: false, shown: { base: shown, revision } })
  })
}

/**
 * Leaves out names that are as the form showed them. They differ from the version if an entity was
 * renamed since, which is no change of the reader.
 */
function withoutRenamed(input: SuggestionInput, { showed }: SentForm): SuggestionInput {
  if (!input.fields) return input
  const isChanged = ([field, value]: [string, unknown]) => {
    const name = nameFields.find((each) => each === field)
    return name === undefined || !showed(name, value)
  }
  return { ...input, fields: Object.fromEntries(Object.entries(input.fields).filter(isChanged)) }
}

/** Reads the version that a form about a record showed. Undefined if the form is not signed. */
export async function readShownVersion(
  pool: Pool,
  video: number,
  token: string,
): Promise<Video | undefined> {
  const form = readForm(await readKeys(pool), video, { token, proofOfWork: '' })
  return form && findShown(pool.lookups, video, form.revision)
}

/** Finds the version of a record that a form showed. Undefined if it is not public. */
async function findShown(db: Db, id: number, revision: number): Promise<Video | undefined> {
  const shown = (await findRevision(db, id, revision))?.record
  return shown && (await isPublicVersion(db, shown)) ? shown : undefined
}

/** Reads a live record, or the one into which it was merged. Throws 404 or 410 otherwise. */
export async function suggestibleVideo(
  db: Db,
  id: number,
): Promise<{ video: Video; revision: number }> {
  const target = (await findTarget(db, id)) ?? id
  const row = (await findBodiesById(db, [target])).get(target)
  if (row?.taken_down) throw new Problem('taken-down', 'This record was taken down', row.taken_down)
  if (!row?.live) throw new Problem('not-found', 'This record does not exist')
  return { video: JSON.parse(row.body) as Video, revision: row.revision }
}

/** A validated suggestion, and the version of the record that it changes. */
interface ValidInput {
  readonly suggestion: NewSuggestion
  readonly base: Partial<Video>
}

async function store(
  pool: Pool,
  { network, form }: Sender,
  keys: DayKeys,
  read: () => Promise<ValidInput | 'expired'>,
): Promise<SentSuggestion | 'expired'> {
  const earlier = await findRepeated(pool.lookups, form)
  if (earlier) return earlier
  const networks = network === undefined ? [] : hashNetwork(keys, network)
  // First of all: what follows tells something about the record.
  if (network !== undefined) assertNetworkMaySend(await readUsage(pool.lookups, null, networks))
  const input = await read()
  if (input === 'expired') return input
  const { suggestion, base } = input
  const hasManyLinks = countNewLinks(base, suggestion.fields, suggestion.comment) >= manyLinks
  /** Throws if a limit is reached. Returns whether the suggestion has a low priority. */
  const checkLimits = async (db: Db) => {
    const usage = await readUsage(db, suggestion.video, networks)
    if (network !== undefined) assertNetworkMaySend(usage)
    const isSuspicious = network !== undefined && (!form || lacksProofOfWork(form, usage))
    const isLowPriority = isSuspicious || hasManyLinks || usage.was_declined
    assertQueueHasRoom(usage, isLowPriority)
    return isLowPriority
  }
  // Most that exceed a limit need not wait for the lock.
  await checkLimits(pool.lookups)
  return pool.transaction(async (tx) => {
    await takeLock(tx, 'suggestions')
    const same = await findRepeated(tx, form)
    if (same) return same
    await lockSuggestible(tx, suggestion)
    const isLowPriority = await checkLimits(tx)
    return insert(tx, suggestion, { isLowPriority, network: networks[0], form })
  })
}

/** Returns what a form did when it was sent before. Undefined if it was not. */
async function findRepeated(
  db: Db,
  form: Sender['form'],
): Promise<SentSuggestion | 'expired' | undefined> {
  const earlier = form && (await findByForm(db, form.hash))
  if (!earlier) return undefined
  const isSame = earlier.input_hash?.equals(form.inputHash)
  return isSame ? { id: earlier.id, secret: form.secret } : 'expired'
}

/** Locks the records of a suggestion, and throws 404 or 410 if they were hidden or taken down. */
async function lockSuggestible(
  tx: Db,
  { video, duplicateOf }: Pick<NewSuggestion, 'video' | 'duplicateOf'>,
): Promise<void> {
  const ids = [video, duplicateOf].filter((id) => id !== null)
  await lockRecords(tx, ids)
  for (const id of ids) await suggestibleVideo(tx, id)
}

async function insert(
  tx: Db,
  suggestion: NewSuggestion,
  {
    isLowPriority,
    network,
    form,
  }: { isLowPriority: boolean; network: Buffer | undefined; form: Sender['form'] },
): Promise<SentSuggestion> {
  const secret = form?.secret ?? makeSecret()
  const hashes = {
    secretHash: hashSecret(secret),
    contentHash: hash('sha256', contentOf(suggestion), 'buffer'),
  }
  const insertRow = () => insertSuggestion(tx, { ...suggestion, ...hashes, isLowPriority })
  let id = await insertRow()
  if (id === undefined) {
    const open = await findSame(tx, hashes.contentHash)
    if (open) return { id: open.id, secret: undefined }
    // It was decided between the two statements: decisions do not wait for the lock.
    id = await insertRow()
  }
  if (id === undefined) throw new Error('The same suggestion was opened while the lock was held')
  if (network) await insertSender(tx, id, network, form)
  return { id, secret }
}

/** Returns what makes two suggestions the same: all but the author. */
function contentOf({ kind, video, fields, duplicateOf, comment }: NewSuggestion): string {
  return canonicalJson({ kind, video, fields, duplicateOf, comment })
}

interface ReadOptions {
  /** Whether the sender may refer to revisions that readers never saw. */
  readonly seesDrafts: boolean
  /** The version that the form showed. */
  readonly shown?: { readonly base: Video; readonly revision: number }
}

/** Kinds whose authors get credit: they correct what readers see. */
const creditedKinds: readonly SuggestionKind[] = ['correction', 'dead-link']

/** Validates a suggestion. Throws `invalid-fields`, or 404 or 410 if there is no such record. */
async function readInput(
  pool: Pool,
  body: unknown,
  { seesDrafts, shown }: ReadOptions,
): Promise<ValidInput> {
  const input = validate(SuggestionInput, normalizeInput(body))
  assertFitsKind(input)
  const { kind } = input
  const name = (input.name ?? '').replaceAll(/\s+/g, ' ').trim() || null
  const isCredited = creditedKinds.includes(kind) && name !== null
  const author = {
    comment: (input.comment ?? '').trim(),
    name,
    showName: isCredited && input.show_name === true,
  }
  if (input.video === undefined) {
    const fields = await storableFields(pool, {}, input.fields ?? {}, { isNewTalk: true })
    const target = { video: null, baseRevision: null, duplicateOf: null, keptIds: {} }
    return { suggestion: { kind, fields, ...target, ...author }, base: {} }
  }
  const current = await suggestibleVideo(pool.lookups, input.video)
  // The revision is one of the record that was merged meanwhile.
  const isMerged = current.video.id !== input.video
  const seen = isMerged ? undefined : (shown ?? (await findBase(pool, current, input, seesDrafts)))
  const { base, revision } = seen ?? { base: current.video, revision: current.revision }
  const sent = input.fields ?? {}
  const edit = shown ? await removeFormerNames(pool, base, revision, sent) : sent
  const fields = await storableFields(pool, base, edit)
  const suggestion = {
    kind,
    video: current.video.id,
    baseRevision: revision,
    fields: kind === 'removal' ? { state: states.draft } : fields,
    keptIds: await findKeptIds(pool.lookups, base, fields),
    duplicateOf: null as number | null,
    ...author,
  }
  if (kind === 'correction' && Object.keys(fields).length === 0 && author.comment === '')
    throw refuse('/fields', 'required', 'must change something, or have a comment')
  if (input.duplicate_of !== undefined)
    suggestion.duplicateOf = await readOther(pool, current.video.id, input.duplicate_of)
  return { suggestion, base }
}

/** Normalises the fields. Leaves values of wrong types for the validation. */
function normalizeInput(body: unknown): unknown {
  const { fields } = body as { fields?: unknown }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return body
  return { ...(body as object), fields: normalizeVideoInput(fields) }
}

/** What each kind has, besides comment and a name. */
const partsOfKind: Readonly<Record<SuggestionKind, readonly (keyof SuggestionInput)[]>> = {
  correction: ['video', 'base_revision', 'fields'],
  'dead-link': ['video', 'base_revision', 'fields'],
  duplicate: ['video', 'duplicate_of'],
  missing: ['fields'],
  removal: ['video'],
}

/** Throws `invalid-fields` if a suggestion lacks what its kind needs, or has more. */
function assertFitsKind(input: SuggestionInput): void {
  const { kind, fields = {}, comment = '' } = input
  const parts = partsOfKind[kind]
  const errors: FieldError[] = (['video', 'base_revision', 'fields', 'duplicate_of'] as const)
    .filter((part) => input[part] !== undefined && !parts.includes(part))
    .map((part) => ({
      pointer: `/${part}`,
      code: 'unknown-field',
      detail: 'is not part of a suggestion of this kind',
    }))
  const addMissing = (pointer: string, detail = 'is required') =>
    errors.push({ pointer, code: 'required', detail })
  if (parts.includes('video') && input.video === undefined) addMissing('/video')
  if (kind === 'duplicate' && input.duplicate_of === undefined) addMissing('/duplicate_of')
  if (kind === 'removal' && comment.trim() === '') addMissing('/comment')
  if (kind === 'missing' && fields.title === undefined) addMissing('/fields/title')
  for (const field of Object.keys(fields))
    if (kind === 'dead-link' && field !== 'source_url')
      errors.push({
        pointer: `/fields/${field}`,
        code: 'unknown-field',
        detail: 'is not part of a suggestion of this kind: only source_url is',
      })
  if (errors.length > 0) throw invalidFields(errors)
}

/**
 * Tells whether a former version has only what readers may know. It has the current names of its
 * entities, which may be those of drafts by now.
 */
export async function isPublicVersion(db: Db, version: Video): Promise<boolean> {
  return version.state === states.live && haveLiveTalks(db, version)
}

/**
 * Finds the version that the caller saw. Undefined if it is the current one. Unless the caller sees
 * drafts, a revision that is not public is as unknown as one that does not exist: otherwise errors
 * would confirm guesses of its content.
 */
async function findBase(
  db: Db,
  current: { readonly video: Video; readonly revision: number },
  { base_revision: revision }: SuggestionInput,
  seesDrafts: boolean,
): Promise<ReadOptions['shown']> {
  if (revision === undefined || revision === current.revision) return undefined
  const found = await findRevision(db, current.video.id, revision)
  if (!found || !(seesDrafts || (await isPublicVersion(db, found.record))))
    throw refuse('/base_revision', 'unknown-revision', 'is not a revision of this record')
  return { base: found.record, revision }
}

/** Returns the id of the other record of a talk. Throws `invalid-fields` if there is none. */
async function readOther(pool: Pool, id: number, otherId: number): Promise<number> {
  const other = await suggestibleVideo(pool.lookups, otherId).catch((error: unknown) => {
    if (!(error instanceof Problem)) throw error
    throw refuse('/duplicate_of', 'unknown-record', 'is not the id of a talk')
  })
  if (other.video.id !== id) return other.video.id
  throw refuse('/duplicate_of', 'same-record', 'must be the id of another talk')
}

/**
 * Returns the fields that differ from the base. Names stay as they were typed: what the author is
 * shown must not tell which hidden aliases exist. Neither must errors: a category is known by the
 * names that readers see. That of a new talk may be missing as well.
 */
async function storableFields(
  pool: Pool,
  base: Partial<Video>,
  fields: SuggestedFields,
  { isNewTalk = false } = {},
): Promise<StoredFields> {
  const changed = Object.fromEntries(
    (Object.keys(fields) as (keyof SuggestedFields)[])
      .filter((field) => JSON.stringify(fields[field]) !== JSON.stringify(base[field]))
      .map((field) => [field, fields[field]]),
  ) as StoredFields
  const errors = validationErrors(VideoPatch, changed)
  if (errors.length > 0) throw invalidFields(errors.map(belowFields))
  if (Buffer.byteLength(JSON.stringify(changed)) > maxSuggestedBytes)
    throw refuse('/fields', 'too-long', `must have at most ${maxSuggestedBytes} bytes`)
  const { category, language } = changed
  const names = { category: isNewTalk ? undefined : category, language, speakers: [], tags: [] }
  const resolved = await resolveNames(pool.lookups, names, { isPublic: true })
  if ('errors' in resolved) throw invalidFields(resolved.errors.map(belowFields))
  return changed
}

/** Finds the entities of the names that the record has already. These names follow a rename. */
async function findKeptIds(
  db: Db,
  base: Video,
  { speakers = [], tags = [] }: StoredFields,
): Promise<KeptIds> {
  const kept = {
    speakers: speakers.filter((name) => base.speakers.includes(name)),
    tags: tags.filter((name) => base.tags.includes(name)),
  }
  if (kept.speakers.length + kept.tags.length === 0) return {}
  const resolved = await resolveLists(db, kept)
  const idsByName = (field: 'speakers' | 'tags') =>
    Object.fromEntries(
      kept[field].flatMap((name, index) => {
        const entity = resolved.found[field][index]
        return entity ? [[name, entity.id]] : []
      }),
    )
  return { speakers: idsByName('speakers'), tags: idsByName('tags') }
}

/**
 * Replaces names that the record had by the current names of their entities, if readers see these
 * in the record.
 */
export async function withKeptNames(
  db: Db,
  fields: StoredFields,
  { speakers = {}, tags = {} }: KeptIds,
  shown: Video | undefined,
): Promise<StoredFields> {
  const ids = { category: 0, speakers: Object.values(speakers), tags: Object.values(tags) }
  if (ids.speakers.length + ids.tags.length === 0) return fields
  const namesOf = await currentNames(db, [ids])
  const current = (list: 'speakers' | 'tags', id: number) =>
    namesOf({ category: 0, speakers: [], tags: [], [list]: [id] })[list][0]?.name
  const renamed = (list: 'speakers' | 'tags', kept: Readonly<Record<string, number>>) =>
    fields[list]?.map((name) => {
      const id = Object.hasOwn(kept, name) ? kept[name] : undefined
      const newName = id === undefined ? undefined : current(list, id)
      return newName !== undefined && shown?.[list].includes(newName) ? newName : name
    })
  return {
    ...fields,
    ...(fields.speakers && { speakers: renamed('speakers', speakers) }),
    ...(fields.tags && { tags: renamed('tags', tags) }),
  } as StoredFields
}

/**
 * Replaces names by the current names of their entities, also hidden aliases: only editors may see
 * the result. Names that do not exist stay.
 */
export async function withCurrentNames(db: Db, fields: StoredFields): Promise<StoredFields> {
  const { category, language, speakers, tags } = fields
  if (!category && !language && !speakers && !tags) return fields
  const lists = { speakers: speakers ?? [], tags: tags ?? [] }
  const resolved = await resolveNames(db, { category, language, ...lists })
  // A category that does not exist is refused when the suggestion is accepted.
  const { found } = 'errors' in resolved ? await resolveLists(db, lists) : resolved
  const current = (list: readonly string[], entities: typeof found.speakers) => [
    ...new Set(list.map((name, index) => entities[index]?.name ?? name)),
  ]
  return {
    ...fields,
    ...(found.category && { category: found.category.name }),
    ...(found.language && { language: found.language.name }),
    ...(speakers && { speakers: current(speakers, found.speakers) }),
    ...(tags && { tags: current(tags, found.tags) }),
  }
}

/** Resolves the names of speakers and tags. */
async function resolveLists(
  db: Db,
  lists: { readonly speakers: readonly string[]; readonly tags: readonly string[] },
) {
  const resolved = await resolveNames(db, lists)
  if ('errors' in resolved) throw new Error('Neither a category nor a language was looked up')
  return resolved
}

const belowFields = (error: FieldError) => ({ ...error, pointer: `/fields${error.pointer}` })

const refuse = (pointer: string, code: string, detail: string) =>
  invalidFields([{ pointer, code, detail }])
