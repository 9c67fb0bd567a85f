import { type FieldError, Problem } from '@talkshelf/contract'
import { deskPages, deskPaths } from '@talkshelf/web'
import {
  changePerson,
  createLinkFor,
  endSessions,
  invitePerson,
  listPeople,
  type Person,
  type PersonRole,
  personRoles,
  readPerson,
  type SignInLink,
  setDisabled,
} from '../auth/auth.ts'
import type { PageSite } from '../pages/pages.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type FormRequest, type PageRequest, parseId } from '../platform/http/pages.ts'
import type { Mailer } from '../platform/net/mail.ts'
import { mailInvitation } from './mail.ts'
import { auditOrigin, type Desk, type DeskRequest } from './mount.ts'

// Pages that manage people. Only administrators see them.

/** Mounts the list of people and the page of each person. */
export function peoplePages(
  desk: Desk,
  pool: Pool,
  site: PageSite,
  mailer: Mailer | undefined,
): void {
  const hasMail = mailer !== undefined
  const access = { role: 'admin', isDangerous: true } as const
  desk.page(deskPaths.people, access, async (request) =>
    desk.render(request, [deskPages.people, { people: await listPeople(pool), hasMail }]),
  )
  /** Shows a new link, which is also mailed if the form says so. */
  const showLink = (
    request: DeskRequest<FormRequest>,
    { id, name, mail }: Pick<Person, 'id' | 'name' | 'mail'>,
    link: SignInLink,
  ) => {
    const url = desk.originOf(request) + site.basePath + deskPaths.link(link.secret)
    const isWanted = mailer !== undefined && mail !== null && request.form.has('send')
    const locale = desk.localeOf(request)
    const isQueued =
      isWanted && mailInvitation(mailer, { to: mail, locale, site: site.name, name, url, link })
    const mailed = isWanted ? { to: mail, isQueued } : undefined
    return desk.render(request, [deskPages.linkCreated, { id, name, url, code: link.code, mailed }])
  }
  desk.form(deskPaths.people, { ...access, page: deskPaths.people }, async (request) => {
    const { form } = request
    const name = (form.get('name') ?? '').trim()
    const mail = (form.get('mail') ?? '').trim()
    const role = roleIn(form)
    try {
      const invitation = { name, mail: mail === '' ? null : mail, role }
      const { id, link } = await invitePerson(pool, invitation, auditOrigin(request))
      return showLink(request, { id, ...invitation }, link)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const data = {
        people: await listPeople(pool),
        hasMail,
        invitation: { name, mail, role },
        errors: fieldErrors(error),
      }
      return desk.render(request, [deskPages.people, data], 400)
    }
  })

  const personPath = deskPaths.person(':id')
  desk.page(personPath, access, async (request) => {
    const person = await readPerson(pool, idOf(request))
    const isSelf = person.id === request.session.person.id
    return desk.render(request, [deskPages.person, { person, isSelf, hasMail }])
  })
  /** Mounts a form about one person. */
  const personForm = (
    path: string,
    change: (id: number, request: Parameters<Parameters<Desk['form']>[2]>[0]) => Promise<string>,
  ) =>
    desk.form(path, { ...access, page: personPath }, async (request) => {
      const id = idOf(request)
      const done = await change(id, request)
      return desk.redirect(request, `${deskPaths.person(id)}?done=${done}`)
    })
  personForm(personPath, async (id, request) => {
    const name = (request.form.get('name') ?? '').trim()
    // A role that was not chosen here may have been changed by another administrator.
    const { form } = request
    const isChosen = form.has('role') && form.get('role') !== form.get('role_before')
    const role = isChosen ? { role: roleIn(form) } : {}
    await changePerson(pool, id, { name, ...role }, auditOrigin(request))
    return 'saved'
  })
  personForm(deskPaths.personSessions(':id'), async (id, request) => {
    await endSessions(pool, id, auditOrigin(request))
    return 'sessions-ended'
  })
  personForm(deskPaths.personDisabled(':id'), async (id, request) => {
    const isDisabled = request.form.get('disabled') === '1'
    await setDisabled(pool, id, isDisabled, auditOrigin(request))
    return isDisabled ? 'disabled' : 'enabled'
  })
  desk.form(deskPaths.personLink(':id'), { ...access, page: personPath }, async (request) => {
    const id = idOf(request)
    const link = await createLinkFor(pool, id, auditOrigin(request))
    return showLink(request, await readPerson(pool, id), link)
  })
}

/** Returns the message of a problem by the field that it is about. */
function fieldErrors({ problem, message, more }: Problem): Record<string, string> {
  const [first] = (more.errors ?? []) as readonly FieldError[]
  const isMail = problem === 'name-taken' || first?.pointer === '/mail'
  return { [isMail ? 'mail' : 'name']: message }
}

function roleIn(form: URLSearchParams): PersonRole {
  return personRoles.find((role) => role === form.get('role')) ?? 'suggester'
}

function idOf({ params }: PageRequest): number {
  const id = parseId(params.id)
  if (id === undefined) throw new Problem('not-found', 'This page does not exist')
  return id
}
