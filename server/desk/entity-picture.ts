import { maxPictureBytes, type PictureRefusal, Problem } from '@talkshelf/contract'
import { deskEntityPaths, type EntityPageKind, pictureFields, removePicture } from '@talkshelf/web'
import { PictureRefused, storePicture } from '../pictures/pictures.ts'
import type { UploadedFile } from '../platform/http/uploads.ts'
import { type EditedEntity, type EntityDesk, entityAccess, readEdited } from './entity-data.ts'
import { changeOrigin, type DeskRequest, textFormBytes } from './mount.ts'

// The logo of an event and the picture of a speaker at the desk: the current one, and an upload.

/**
 * Limits of the form of a profile. A larger picture is refused at its field and the other fields are
 * kept; only a form far beyond that is refused as a whole.
 */
export const profileFormLimits = {
  maxBytes: 5 * maxPictureBytes,
  fileBytes: maxPictureBytes,
  fieldBytes: textFormBytes,
  formBytes: textFormBytes,
}

/** Returns the URL of the picture of an entity, if it has one. */
export function pictureUrlOf(kind: EntityPageKind, { fields }: EditedEntity): string | undefined {
  const field = pictureFields[kind]
  return field && ((fields[field] as string | null) ?? undefined)
}

/** Mounts the current picture, also of a speaker who is not public. */
export function entityPicturePage(
  { desk, pool, pictures }: EntityDesk,
  kind: EntityPageKind,
): void {
  const path = deskEntityPaths[kind].picture
  if (!path) return
  const size = kind === 'category' ? 'logo' : 'portrait'
  desk.page(path(':id'), entityAccess, async (request) => {
    const entity = await readEdited(pool, kind, request.params.id ?? '')
    const url = pictureUrlOf(kind, entity)
    if (!url) throw new Problem('not-found', 'This page does not exist')
    const { data, type } = await pictures.readProfile(url, entity.name, size)
    return { body: data, headers: { 'content-type': type, 'cache-control': 'private, no-store' } }
  })
}

interface FormPicture {
  /** The form with the URL of the new picture, or without the one that was removed. */
  readonly form: URLSearchParams
  readonly error?: PictureRefusal
}

/**
 * Stores the file of a form. If another field is refused later, the form has the URL of the picture,
 * so that it need not be uploaded again.
 */
export async function storeFormPicture(
  { pool, pictures, site }: EntityDesk,
  kind: EntityPageKind,
  request: DeskRequest,
  typed: URLSearchParams,
  file: UploadedFile | undefined,
): Promise<FormPicture> {
  const field = pictureFields[kind]
  const form = new URLSearchParams(typed)
  if (!field) return { form }
  if (form.has(removePicture)) form.set(field, '')
  if (!file) return { form }
  if (file.isTooLarge) return { form: typed, error: 'too-large' }
  try {
    const source = Buffer.concat(file.chunks)
    const path = await storePicture(pool, pictures, source, changeOrigin(request))
    form.set(field, site.origin() + path)
    return { form }
  } catch (error) {
    if (!(error instanceof PictureRefused)) throw error
    return { form: typed, error: error.reason }
  }
}
