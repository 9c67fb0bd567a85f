import {
  createImportEndpoint,
  type FieldError,
  ImportInput,
  Problem,
  validate,
} from '@talkshelf/contract'
import { deskPages, deskPaths, type ImportFormData, type ImportFormErrors } from '@talkshelf/web'
import { normalizeName, suggestCategories } from '../entities/entities.ts'
import { type ImportPlanner, type InputRefused, listImports } from '../imports/imports.ts'
import type { Pool } from '../platform/db/pool.ts'
import { parseId } from '../platform/http/pages.ts'
import type { Upload, UploadedFile } from '../platform/http/uploads.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import { importPage } from './import.ts'
import { changeOrigin, type Desk, type DeskRequest, type DeskUpload } from './mount.ts'

// The list of imports and the form that starts one. import.ts has the page of each import.

const pageSize = 20
/** The limit of the API. */
const { maxBytes } = createImportEndpoint.body

/** Mounts the pages of imports. */
export function importPages(
  desk: Desk,
  pool: Pool,
  planner: ImportPlanner,
  jobRunner: JobRunner,
): void {
  const show = async (request: DeskRequest, form: Omit<ImportFormData, 'maxBytes'> = {}) => {
    const before = parseId(request.query.before) ?? Number.MAX_SAFE_INTEGER
    const found = await listImports(pool, before, pageSize + 1)
    const imports = found.slice(0, pageSize)
    const next = found.length > pageSize ? imports.at(-1)?.id : undefined
    const data = { imports, next, form: { ...form, maxBytes } }
    return desk.render(request, [deskPages.imports, data], form.errors ? 400 : 200)
  }
  const access = { role: 'editor', page: deskPaths.imports } as const
  desk.page(deskPaths.imports, access, (request) => show(request))
  desk.upload(
    deskPaths.imports,
    access,
    async (request) => {
      const upload = await readForm(request)
      if (typeof upload === 'string') return show(request, { errors: { file: upload } })
      const result = await startImport(pool, planner, upload, request)
      if ('id' in result) return desk.redirect(request, deskPaths.importPage(result.id))
      return show(request, { values: Object.fromEntries(upload.form), errors: result.errors })
    },
    { maxBytes },
  )
  importPage(desk, pool, jobRunner)
}

/** Reads the form. Returns what is wrong if the file is too large or the upload is damaged. */
async function readForm(request: DeskUpload): Promise<Upload | 'too-large' | 'damaged'> {
  try {
    return await request.readForm()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.problem === 'too-large') return 'too-large'
    if (error.problem === 'bad-request') return 'damaged'
    throw error
  }
}

type Started = { readonly id: number } | { readonly errors: ImportFormErrors }

async function startImport(
  pool: Pool,
  planner: ImportPlanner,
  { form, file }: Upload,
  request: DeskRequest,
): Promise<Started> {
  const fileError = findFileError(form, file)
  if (fileError) return { errors: { file: fileError } }
  const event = normalizeName(form.get('event') ?? '')
  if (event !== '' && !form.has('new_event')) {
    const similar = await suggestCategories(pool, event)
    if (similar.length > 0) return { errors: { event: similar } }
  }
  try {
    const { text: _, url, ...options } = readOptions(form, file)
    const content = file ? { content: streamOf(file.chunks) } : { url: url ?? '' }
    const planRequest = { ...options, ...content }
    const { id, refusal } = await planner.start(planRequest, changeOrigin(request))
    return refusal ? { errors: refusalErrors(refusal, file !== undefined) } : { id }
  } catch (error) {
    const errors = error instanceof Problem ? (error.more.errors as FieldError[] | undefined) : []
    if (!errors || errors.length === 0) throw error
    const fields = errors.map(({ pointer, code, detail }) => [
      fieldNames[pointer] ?? 'source',
      { code, text: detail },
    ])
    return { errors: { fields: Object.fromEntries(fields) } }
  }
}

function findFileError(
  form: URLSearchParams,
  file: UploadedFile | undefined,
): ImportFormErrors['file'] {
  const hasUrl = (form.get('url') ?? '').trim() !== ''
  if (file && hasUrl) return 'both'
  if (!file && !hasUrl) return 'missing'
  return file?.bytes === 0 ? 'empty' : undefined
}

/** Fields of the form by the pointer of the error. */
const fieldNames: Readonly<Record<string, string>> = {
  '/url': 'url',
  '/category': 'event',
  '/language': 'language',
  '/recorded': 'recorded',
  '/source': 'source',
}

/** Reads the options of the form. Throws `invalid-fields` as the API does. */
function readOptions(form: URLSearchParams, file: UploadedFile | undefined): ImportInput {
  const textOf = (name: string) => (form.get(name) ?? '').trim() || undefined
  const options = {
    url: textOf('url'),
    name: file && (cleanName(file.name) || 'file'),
    format: textOf('format'),
    source: textOf('source'),
    category: normalizeName(form.get('event') ?? '') || undefined,
    language: textOf('language'),
    recorded: textOf('recorded'),
    keep_titles: form.has('keep_titles') || undefined,
    draft: form.has('draft') || undefined,
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return validate(ImportInput, Object.fromEntries(given))
}

/** Removes characters of a file name that cannot be shown. */
export function cleanName(name: string): string {
  return name
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim()
    .slice(0, 255)
    .toWellFormed()
}

function refusalErrors({ code, message }: InputRefused, isFile: boolean): ImportFormErrors {
  if (!isFile) return { fields: { url: { code, text: message } } }
  if (code === 'empty') return { file: 'empty' }
  return { file: code === 'unknown-format' ? 'format' : { text: message } }
}

/** Streams the content of an uploaded file. */
export async function* streamOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}
