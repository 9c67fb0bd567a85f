import { Problem } from '@talkshelf/contract'
import { deskPages, deskPaths } from '@talkshelf/web'
import {
  changePerson,
  createLinkFor,
  endSessions,
  invitePerson,
  listPeople,
  type PersonRole,
  personRoles,
  readPerson,
  type SignInLink,
  setDisabled,
  setEventEditor,
} from '../auth/auth.ts'
import type { Pool } from '../platform/db/pool.ts'
import { auditOrigin, type Desk, type DeskRequest, idOf } from './mount.ts'

// Pages that manage people. Only administrators see them.

/** Mounts the list of people and the page of each person. */
export function peoplePages(desk: Desk, pool: Pool, basePath: string): void {
  const access = { role: 'admin', isDangerous: true } as const
  desk.page(deskPaths.people, access, async (request) =>
    desk.render(request, [deskPages.people, { people: await listPeople(pool) }]),
  )
  const showLink = (request: DeskRequest, id: number, name: string, link: SignInLink) => {
    const url = desk.originOf(request) + basePath + deskPaths.link(link.secret)
    return desk.render(request, [deskPages.linkCreated, { id, name, url, code: link.code }])
  }
  desk.form(deskPaths.people, { ...access, page: deskPaths.people }, async (request) => {
    const { form } = request
    const name = (form.get('name') ?? '').trim()
    const mail = (form.get('mail') ?? '').trim()
    const role = roleIn(form)
    try {
      const invitation = { name, mail: mail === '' ? null : mail, role }
      const { id, link } = await invitePerson(pool, invitation, auditOrigin(request))
      return showLink(request, id, name, link)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const isMail = error.problem === 'name-taken' || error.more.field === 'mail'
      const field = isMail ? 'mail' : 'name'
      const data = {
        people: await listPeople(pool),
        invitation: { name, mail, role },
        errors: { [field]: error.message },
      }
      return desk.render(request, [deskPages.people, data], 400)
    }
  })

  const personPath = deskPaths.person(':id')
  desk.page(personPath, access, async (request) => {
    const person = await readPerson(pool, idOf(request))
    const isSelf = person.id === request.session.person.id
    return desk.render(request, [deskPages.person, { person, isSelf }])
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
  desk.form(deskPaths.personEvents(':id'), { ...access, page: personPath }, async (request) => {
    const id = idOf(request)
    const event = (request.form.get('event') ?? '').trim()
    const isEditor = request.form.get('remove') !== '1'
    try {
      await setEventEditor(pool, id, event, isEditor, auditOrigin(request))
    } catch (error) {
      if (!(error instanceof Problem) || error.problem !== 'not-found') throw error
      const person = await readPerson(pool, id)
      const isSelf = id === request.session.person.id
      const data = { person, isSelf, event, errors: { event: error.message } }
      return desk.render(request, [deskPages.person, data], 400)
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
    const { name } = await readPerson(pool, id)
    return showLink(request, id, name, link)
  })
}

function roleIn(form: URLSearchParams): PersonRole {
  return personRoles.find((role) => role === form.get('role')) ?? 'suggester'
}
