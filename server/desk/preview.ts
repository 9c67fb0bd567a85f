import { type Video, VideoPatch, validationErrors } from '@talkshelf/contract'
import { changedValues, deskPaths, pages, renderPage, sourcePolicy } from '@talkshelf/web'
import type { Markdown } from '../markdown/markdown.ts'
import { buildView, type PageSite, pageHeaders, talkPage } from '../pages/pages.ts'
import type { Pictures } from '../pictures/pictures.ts'
import type { Pool } from '../platform/db/pool.ts'
import { normalizeVideoInput, readCurrentVideo } from '../videos/videos.ts'
import { type Desk, type DeskRequest, idOf } from './mount.ts'
import { findWorkingCopy } from './queries.ts'

// The page of a talk as readers will see it: also of a draft, and with what was typed.

/** Mounts the preview of a talk and its picture. */
export function previewPages(
  desk: Desk,
  pool: Pool,
  markdown: Markdown,
  site: PageSite,
  pictures: Pictures,
): void {
  const access = { role: 'editor', forEventEditors: true } as const
  const noStore = { 'cache-control': 'private, no-store' }

  desk.page(deskPaths.talkPreview(':id'), access, async (request) => {
    const video = await readTyped(pool, request)
    const data = await talkPage(pool, markdown, video, 0, site.origin())
    const talk = { ...data.talk, picture: deskPaths.talkPicture(video.id) }
    const view = buildView(site, request)
    return {
      body: renderPage(pages.talk, { ...data, talk }, view),
      headers: { ...pageHeaders(view, { playing: sourcePolicy(talk.sources) }), ...noStore },
    }
  })

  desk.page(deskPaths.talkPicture(':id'), access, async (request) => {
    const { data, type } = await pictures.read(await readTyped(pool, request), 640)
    return { body: data, headers: { 'content-type': type, ...noStore } }
  })
}

/** Reads a talk with the valid values that the person has typed and not saved. */
async function readTyped(pool: Pool, request: DeskRequest): Promise<Video> {
  const id = idOf(request)
  const { video } = await readCurrentVideo(pool, id)
  const copy = await findWorkingCopy(pool, request.session.person.id, id)
  if (!copy) return video
  const typed = normalizeVideoInput(changedValues(video, new URLSearchParams(copy.form)))
  const wrong = new Set(
    validationErrors(VideoPatch, typed).map(({ pointer }) => pointer.split('/')[1]),
  )
  const valid = Object.entries(typed).filter(([field]) => !wrong.has(field))
  return { ...video, ...Object.fromEntries(valid) }
}
