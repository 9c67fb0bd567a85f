import {
  createPersonLinkEndpoint,
  invitePersonEndpoint,
  listAuditEventsEndpoint,
  listPeopleEndpoint,
  PersonInput,
  PersonPatch,
  patchPersonEndpoint,
  validate,
} from '@talkshelf/contract'
import { deskPaths } from '@talkshelf/web'
import type { Pool } from '../platform/db/pool.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import { nextUrl } from '../platform/http/pagination.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import { auditOriginOf } from './audit.ts'
import { changePerson, createLinkFor, invitePerson, readPerson } from './people.ts'
import { findPeopleAfter, listAuditEvents } from './queries.ts'
import type { SignInLink } from './sign-in.ts'

/** Mounts the endpoints of people and the audit log. `base` returns the base URL of links. */
export function authRoutes(mount: Mount, pool: Pool, urls: SiteUrls, base: () => string): void {
  const headers = { 'cache-control': 'private, no-store' }
  const linkOf = ({ secret, code }: SignInLink) => ({ url: base() + deskPaths.link(secret), code })

  mount(listPeopleEndpoint, async ({ query }) => {
    const { after = 0, page_size: size = 20 } = query
    const people = await findPeopleAfter(pool.lists, after, size + 1)
    const results = people.slice(0, size)
    const position = people.length > size ? { after: results.at(-1)?.id } : undefined
    const next = nextUrl(urls.to(listPeopleEndpoint, {}), query, position)
    return { body: toJson({ results, next }), headers }
  })

  mount(invitePersonEndpoint, async ({ body, origin }) => {
    const { name, mail = null, role } = validate(PersonInput, body)
    const { id, link } = await invitePerson(pool, { name, mail, role }, auditOriginOf(origin))
    const person = await readPerson(pool, id)
    return { status: 201, body: toJson({ person, link: linkOf(link) }), headers }
  })

  mount(patchPersonEndpoint, async ({ params, body, origin }) => {
    const { name, mail, role, disabled } = validate(PersonPatch, body)
    const changes = {
      ...(name !== undefined && { name }),
      ...(mail !== undefined && { mail }),
      ...(role !== undefined && { role }),
      ...(disabled !== undefined && { isDisabled: disabled }),
    }
    await changePerson(pool, params.id, changes, auditOriginOf(origin))
    return { body: toJson(await readPerson(pool, params.id)), headers }
  })

  mount(createPersonLinkEndpoint, async ({ params, origin }) => {
    const link = await createLinkFor(pool, params.id, auditOriginOf(origin))
    return { body: toJson(linkOf(link)), headers }
  })

  mount(listAuditEventsEndpoint, async ({ query }) => {
    const { before = null, page_size: size = 20 } = query
    const events = await listAuditEvents(pool.lists, { before, size: size + 1 })
    const results = events.slice(0, size)
    const position = events.length > size ? { before: results.at(-1)?.id } : undefined
    const next = nextUrl(urls.to(listAuditEventsEndpoint, {}), query, position)
    return { body: toJson({ results, next }), headers }
  })
}
