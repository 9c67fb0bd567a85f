import { deskPages, deskPaths, paths } from '@talkshelf/web'
import type { PageSite } from '../pages/pages.ts'
import type { Pool } from '../platform/db/pool.ts'
import { parseId } from '../platform/http/pages.ts'
import {
  closeSpeakerRequest,
  createSpeakerLink,
  listConfirmations,
  listLinks,
  revokeSpeakerLink,
} from '../speaker-links/speaker-links.ts'
import { readEdited, readTalks } from './entity-data.ts'
import { auditOrigin, type Desk, type DeskRequest, idOf } from './mount.ts'

// The links of a speaker: an editor creates one, copies it and sends it. It is shown once.

const access = { role: 'editor' } as const
const maxConfirmations = 200

/** Mounts the page of the links of a speaker, and the form that closes a request. */
export function speakerLinkPages(desk: Desk, pool: Pool, site: PageSite): void {
  const path = deskPaths.speakerLinks(':id')
  const show = async (request: DeskRequest, url?: string) => {
    const { id, name, slug } = await readEdited(pool, 'speaker', request.params.id ?? '')
    const found = (await listConfirmations(pool.lists, id)).slice(0, maxConfirmations)
    const talks = await readTalks(
      pool,
      found.map(({ video }) => video),
    )
    const data = {
      slug,
      title: name,
      url,
      links: await listLinks(pool.lists, id),
      confirmations: found.map((row, index) => ({ ...row, title: talks[index]?.title ?? '' })),
    }
    return desk.render(request, [deskPages.speakerLinks, data])
  }
  desk.page(path, access, (request) => show(request))
  desk.form(path, { ...access, page: path }, async (request) => {
    const { id, slug } = await readEdited(pool, 'speaker', request.params.id ?? '')
    const revoked = parseId(request.form.get('revoke') ?? '')
    if (revoked !== undefined) {
      await revokeSpeakerLink(pool, id, revoked, auditOrigin(request))
      return desk.redirect(request, `${deskPaths.speakerLinks(slug)}?done=saved`)
    }
    const secret = await createSpeakerLink(pool, id, auditOrigin(request))
    return show(request, desk.originOf(request) + site.basePath + paths.speakerLink(secret))
  })

  desk.form(
    deskPaths.closeSpeakerRequest(':id'),
    { ...access, page: deskPaths.home },
    async (request) => {
      await closeSpeakerRequest(pool, idOf(request), auditOrigin(request))
      return desk.redirect(request, `${deskPaths.home}?done=saved`)
    },
  )
}
