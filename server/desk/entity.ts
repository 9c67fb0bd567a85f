import { type Alias, type FieldError, Problem, Split, validate } from '@talkshelf/contract'
import {
  deskEntityPaths,
  deskPages,
  deskPaths,
  type EntityNames,
  type EntityPageData,
  type EntityPageKind,
  mergeErrors,
  type ProfileValues,
  type SplitData,
} from '@talkshelf/web'
import type { WriteContext } from '../changes/changes.ts'
import {
  parseEntityPatch,
  patchEntity,
  previewRecords,
  previewUnmerge,
  splitSpeaker,
  unmerge,
} from '../directory/directory.ts'
import { listMerges, normalizeEntityInput } from '../entities/entities.ts'
import { type FormRequest, type PageResponse, parseId } from '../platform/http/pages.ts'
import {
  type EditedEntity,
  type EntityDesk,
  entityAccess,
  isTooLarge,
  previewSize,
  readEdited,
  readPreview,
  readTalks,
} from './entity-data.ts'
import {
  entityPicturePage,
  pictureUrlOf,
  profileFormLimits,
  storeFormPicture,
} from './entity-picture.ts'
import { profileIn, profilePatch, profileValues } from './entity-profile.ts'
import { type DeskRequest, textFormBytes, writeContextOf } from './mount.ts'

// The page of a speaker, a tag or an event: names, profile, undo of merges, split. A change of talks
// is shown before it is written, and refused if the entity was changed since.

/** A form has at most 200 fields. */
const splitPageSize = 150

/** Mounts the page of an entity and its forms. */
export function entityPages(entityDesk: EntityDesk, kind: EntityPageKind): void {
  namesPage(entityDesk, kind)
  entityPicturePage(entityDesk, kind)
  unmergePage(entityDesk, kind)
  if (kind === 'speaker') splitPage(entityDesk)
}

interface Shown {
  readonly names?: EntityNames
  readonly profile?: ProfileValues
  readonly pictureError?: EntityPageData['pictureError']
  readonly errors?: EntityPageData['errors']
  readonly mergeError?: EntityPageData['mergeError']
  readonly isStale?: boolean
}

function namesPage(entityDesk: EntityDesk, kind: EntityPageKind): void {
  const { desk, pool, forget, jobRunner } = entityDesk
  const pages = deskEntityPaths[kind]
  const path = pages.page(':id')
  const show: ShowEntity = async (request, entity, shown, status = 200) => {
    const { names, profile, pictureError, errors = {}, mergeError, isStale = false } = shown
    const data: EntityPageData = {
      kind,
      id: entity.id,
      slug: entity.slug,
      title: entity.name,
      talks: entity.talks,
      etag: entity.etag,
      names: names ?? namesOf(entity),
      oldSlugs: (entity.fields.old_slugs as string[] | undefined) ?? [],
      profile: profile ?? profileValues(kind, entity),
      hasPicture: Boolean(pictureUrlOf(kind, entity)),
      pictureError,
      merges: await listMerges(pool.lists, kind, entity.id),
      errors,
      mergeError,
      isStale,
    }
    return desk.render(request, [deskPages.entity, data], status)
  }

  desk.page(path, entityAccess, async (request) => {
    const entity = await readEdited(pool, kind, slugOf(request))
    if (entity.slug !== slugOf(request)) return desk.redirect(request, pages.page(entity.slug))
    const mergeError = mergeErrors.find((error) => error === request.query.error)
    return show(request, entity, { mergeError })
  })

  desk.form(
    path,
    { ...entityAccess, page: path },
    async (request) => {
      const { form } = request
      const entity = await readEdited(pool, kind, slugOf(request))
      const names = namesIn(form)
      const etag = form.get('etag') ?? ''
      const isStale = etag !== entity.etag
      try {
        const patch = parseEntityPatch(kind, namesPatch(kind, names))
        const isRename = patch.name !== undefined && patch.name !== entity.name
        if (isRename && (isStale || !form.has('confirmed'))) {
          const found = await previewRecords(pool, kind, entity.id, previewSize)
          const { slug, name: title, etag } = entity
          const preview = await readPreview(pool, found)
          const data = { kind, slug, title, etag, names, isStale, ...preview }
          return desk.render(request, [deskPages.renameEntity, data], isStale ? 409 : 200)
        }
        if (isStale) return show(request, entity, { names, isStale }, 409)
        const context = matching(request, etag)
        const result = await patchEntity(pool, kind, entity.slug, patch, context)
        forget(result.changed)
        if (result.left > 0) jobRunner.wake()
        return desk.redirect(request, `${pages.page(result.entity.slug)}?done=saved`)
      } catch (error) {
        if (error instanceof Problem && error.problem === 'stale-revision') {
          const current = await readEdited(pool, kind, slugOf(request))
          return show(request, current, { names, isStale: true }, 409)
        }
        const errors = nameErrors(error, names)
        if (!errors) throw error
        return show(request, entity, { names, errors }, 400)
      }
    },
    { formBytes: textFormBytes },
  )

  if (pages.profile) profileForm(entityDesk, kind, pages.profile(':id'), show)
}

type ShowEntity = (
  request: DeskRequest,
  entity: EditedEntity,
  shown: Shown,
  status?: PageResponse['status'],
) => Promise<PageResponse>

/** Mounts the form of a profile, which may have a file with the picture. */
function profileForm(
  entityDesk: EntityDesk,
  kind: EntityPageKind,
  path: string,
  show: ShowEntity,
): void {
  const { desk, pool } = entityDesk
  const pages = deskEntityPaths[kind]
  desk.upload(
    path,
    { ...entityAccess, page: pages.page(':id') },
    async (upload) => {
      const { form, file } = await upload.readForm()
      const entity = await readEdited(pool, kind, slugOf(upload))
      const picture = await storeFormPicture(entityDesk, kind, upload, form, file)
      const request = { ...upload, form: picture.form }
      const profile = profileIn(kind, request.form)
      const { error: pictureError } = picture
      const etag = request.form.get('etag') ?? ''
      if (etag !== entity.etag)
        return show(request, entity, { profile, pictureError, isStale: true }, 409)
      if (pictureError) return show(request, entity, { profile, pictureError }, 400)
      try {
        const patch = parseEntityPatch(kind, profilePatch(kind, entity, profile))
        await patchEntity(pool, kind, entity.slug, patch, matching(request, etag))
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        if (error.problem === 'stale-revision') {
          const current = await readEdited(pool, kind, slugOf(request))
          return show(request, current, { profile, isStale: true }, 409)
        }
        if (error.problem !== 'invalid-fields') throw error
        const errors = errorsByField(error, (pointer) => pointer.split('/')[1] ?? '')
        return show(request, entity, { profile, errors }, 400)
      }
      return desk.redirect(request, `${pages.page(entity.slug)}?done=saved`)
    },
    profileFormLimits,
  )
}

function unmergePage({ desk, pool, forget, jobRunner }: EntityDesk, kind: EntityPageKind): void {
  const pages = deskEntityPaths[kind]
  const path = pages.unmerge(':id')
  const read = async (request: DeskRequest) => {
    const found = await previewUnmerge(pool, kind, slugOf(request), previewSize)
    const into = await readEdited(pool, kind, found.merge.target.slug)
    return { ...found, into, isLarge: isTooLarge(request, found.changed.count) }
  }
  const show = async (
    request: DeskRequest,
    { merge, into, changed, kept, isLarge }: Awaited<ReturnType<typeof read>>,
    { isStale = false, error }: { isStale?: boolean; error?: string } = {},
  ) => {
    const data = {
      kind,
      name: merge.name,
      slug: merge.slug,
      into,
      changed: await readPreview(pool, changed),
      kept: await readPreview(pool, kept),
      isStale,
      isLarge,
      error,
    }
    const isRefused = isStale || error !== undefined
    return desk.render(request, [deskPages.unmergeEntity, data], isRefused ? 409 : 200)
  }

  /** Shows the entity itself if it is not merged, for example because its merge was undone. */
  const orShowEntity = async (request: DeskRequest, work: () => Promise<PageResponse>) => {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Problem) || error.problem !== 'not-merged') throw error
      return desk.redirect(request, pages.page(slugOf(request)))
    }
  }

  desk.page(path, entityAccess, (request) =>
    orShowEntity(request, async () => show(request, await read(request))),
  )
  desk.form(path, { ...entityAccess, page: path }, (request) =>
    orShowEntity(request, async () => {
      const found = await read(request)
      if (found.isLarge) {
        const to = encodeURIComponent(pages.unmerge(slugOf(request)))
        return desk.redirect(request, `${deskPaths.confirm}?to=${to}`)
      }
      try {
        const context = matching(request, request.form.get('etag') ?? '')
        const { entity, changed, left } = await unmerge(pool, kind, slugOf(request), context)
        forget(changed)
        if (left > 0) jobRunner.wake()
        return desk.redirect(request, `${pages.page(entity.slug)}?done=unmerged`)
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        if (error.problem === 'stale-revision')
          return show(request, await read(request), { isStale: true })
        if (error.problem === 'name-taken') return show(request, found, { error: error.message })
        throw error
      }
    }),
  )
}

function splitPage({ desk, pool, forget, jobRunner }: EntityDesk): void {
  const path = deskPaths.splitSpeaker(':id')
  const show = async (
    request: DeskRequest,
    shown: Partial<Pick<SplitData, 'name' | 'chosen' | 'errors' | 'isStale' | 'isEmpty'>>,
    status: PageResponse['status'] = 200,
  ) => {
    const entity = await readEdited(pool, 'speaker', slugOf(request))
    const after = parseId(request.query.after) ?? 0
    const { ids } = await previewRecords(pool, 'speaker', entity.id, splitPageSize + 1, after)
    const listed = ids.slice(0, splitPageSize)
    const { slug, name: title, etag } = entity
    const talks = await readTalks(pool, listed)
    const next = ids.length > splitPageSize ? listed.at(-1) : undefined
    const empty = { name: '', chosen: [], errors: {}, isStale: false, isEmpty: false }
    const data = { slug, title, etag, talks, next, ...empty, ...shown }
    return desk.render(request, [deskPages.splitSpeaker, data], status)
  }

  desk.page(path, entityAccess, (request) => show(request, {}))
  desk.form(path, { ...entityAccess, page: path }, async (request) => {
    const { form } = request
    const name = form.get('name') ?? ''
    const chosen = [...form.keys()].flatMap((field) =>
      field.startsWith('video_') ? (parseId(field.slice('video_'.length)) ?? []) : [],
    )
    if (chosen.length === 0) return show(request, { name, isEmpty: true }, 400)
    try {
      const split = validate(Split, normalizeEntityInput({ name, videos: chosen }))
      const context = matching(request, form.get('etag') ?? '')
      const result = await splitSpeaker(pool, slugOf(request), split, context)
      forget(result.changed)
      if (result.left > 0) jobRunner.wake()
      return desk.redirect(request, `${deskPaths.speaker(result.entity.slug)}?done=split`)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      if (error.problem === 'stale-revision')
        return show(request, { name, chosen, isStale: true }, 409)
      if (error.problem !== 'invalid-fields') throw error
      const errors = errorsByField(error, (pointer) => pointer.split('/')[1] ?? '')
      return show(request, { name, chosen, errors }, 400)
    }
  })
}

const slugOf = ({ params }: DeskRequest) => params.id ?? ''

/** Returns the context of a write that only changes this version of the entity. */
function matching(request: DeskRequest<FormRequest>, etag: string): WriteContext {
  return { ...writeContextOf(request), ifMatch: `"${etag.replaceAll('"', '')}"` }
}

function namesOf({ name, fields }: EditedEntity): EntityNames {
  const aliases = fields.aliases as readonly Alias[]
  const listed = (isShown: boolean) =>
    aliases.filter(({ shown }) => shown === isShown).map((alias) => alias.name)
  const retired = (fields.retired_slugs as string[] | undefined) ?? []
  return {
    name,
    aliases: listed(true).join('\n'),
    hidden_names: listed(false).join('\n'),
    retired_slugs: retired.join('\n'),
  }
}

function namesIn(form: URLSearchParams): EntityNames {
  const text = (field: string) => form.get(field) ?? ''
  return {
    name: text('name'),
    aliases: text('aliases'),
    hidden_names: text('hidden_names'),
    retired_slugs: text('retired_slugs'),
  }
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** Returns the body of the PATCH that saves these names. */
function namesPatch(kind: EntityPageKind, names: EntityNames): object {
  const aliases = (text: string, shown: boolean) => linesOf(text).map((name) => ({ name, shown }))
  return {
    [kind === 'category' ? 'title' : 'name']: names.name,
    aliases: [...aliases(names.aliases, true), ...aliases(names.hidden_names, false)],
    retired_slugs: linesOf(names.retired_slugs),
  }
}

/** Returns the errors of a refused change of names by field. Undefined if it is another error. */
function nameErrors(error: unknown, names: EntityNames): Record<string, string> | undefined {
  if (!(error instanceof Problem)) return undefined
  if (error.problem === 'name-taken') return { form: error.message }
  if (error.problem !== 'invalid-fields') return undefined
  const shownCount = linesOf(names.aliases).length
  return errorsByField(error, (pointer) => {
    const [, field = '', index = ''] = pointer.split('/')
    if (field === 'title') return 'name'
    return field === 'aliases' && Number(index) >= shownCount ? 'hidden_names' : field
  })
}

/** Returns the first error of each field. */
function errorsByField(
  { more }: Problem,
  fieldOf: (pointer: string) => string,
): Record<string, string> {
  const errors = (more.errors ?? []) as readonly FieldError[]
  return Object.fromEntries(
    errors.toReversed().map(({ pointer, detail }) => [fieldOf(pointer), detail]),
  )
}
