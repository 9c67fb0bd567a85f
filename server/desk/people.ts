import { type FieldError, Problem } from '@talkshelf/contract'
import { deskPages, deskPaths } from '@talkshelf/web'
import {
  changePerson,
  createLinkFor,
  endSessions,
  invitePerson,
  listPeople,
  type Person,
  type PersonChanges,
  type PersonRole,
  personRoles,
  readPerson,
  type SignInLink,
  setDisabled,
  setEventEditor,
} from '../auth/auth.ts'
import type { PageSite } from '../pages/pages.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { FormRequest } from '../platform/http/pages.ts'
import type { Mailer } from '../platform/net/mail.ts'
import { mailInvitation } from './mail.ts'
import { auditOrigin, type Desk, type DeskRequest, idOf } from './mount.ts'

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
  const showPerson = async (request: DeskRequest, refused?: RefusedChanges) => {
    const person = await readPerson(pool, idOf(request))
    const isSelf = person.id === request.session.person.id
    const page = [deskPages.person, { person, isSelf, hasMail, ...refused }] as const
    return desk.render(request, page, refused ? 400 : 200)
  }
  desk.page(personPath, access, (request) => showPerson(request))
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
  desk.form(personPath, { ...access, page: personPath }, async (request) => {
    const id = idOf(request)
    const { form } = request
    const [name = '', mail = ''] = ['name', 'mail'].map((field) => (form.get(field) ?? '').trim())
    try {
      await changePerson(pool, id, personChanges(form), auditOrigin(request))
      return desk.redirect(request, `${deskPaths.person(id)}?done=saved`)
    } catch (error) {
      const isField =
        error instanceof Problem && ['invalid-fields', 'name-taken'].includes(error.problem)
      if (!isField) throw error
      return showPerson(request, { typed: { name, mail }, errors: fieldErrors(error) })
    }
  })
  desk.form(deskPaths.personEvents(':id'), { ...access, page: personPath }, async (request) => {
    const id = idOf(request)
    const event = (request.form.get('event') ?? '').trim()
    const isEditor = request.form.get('remove') !== '1'
    try {
      await setEventEditor(pool, id, event, isEditor, auditOrigin(request))
    } catch (error) {
      if (!(error instanceof Problem) || error.problem !== 'not-found') throw error
      return showPerson(request, { event, errors: { event: error.message } })
    }
    return desk.redirect(request, `${deskPaths.person(id)}?done=saved`)
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

interface RefusedChanges {
  readonly event?: string
  readonly typed?: { readonly name: string; readonly mail: string }
  readonly errors: Readonly<Record<string, string>>
}

/**
 * Returns the changes in the form of a person. A field that has the value with which the page was
 * shown is left out: another administrator may have changed it since.
 */
function personChanges(form: URLSearchParams): PersonChanges {
  const changed = (field: string) => {
    const value = form.get(field)?.trim()
    return value === form.get(`${field}_before`) ? undefined : value
  }
  const [name, mail, role] = ['name', 'mail', 'role'].map(changed)
  return {
    ...(name !== undefined && { name }),
    ...(mail !== undefined && { mail: mail === '' ? null : mail }),
    ...(role !== undefined && { role: roleIn(form) }),
  }
}

function roleIn(form: URLSearchParams): PersonRole {
  return personRoles.find((role) => role === form.get('role')) ?? 'suggester'
}
