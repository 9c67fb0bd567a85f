import { deskPaths } from '../paths.ts'
import { Field, Form, RoleField, SecretField } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

export interface PersonRow {
  readonly id: number
  readonly name: string
  readonly mail: string | null
  readonly role: 'suggester' | 'editor' | 'admin'
  readonly created: string
  readonly disabled: string | null
  readonly last_seen: string | null
  readonly passkeys: number
  /** Events whose talks the person edits. */
  readonly events: readonly { readonly id: number; readonly title: string }[]
}

export interface PeopleData {
  readonly people: readonly PersonRow[]
  /** What the invitation form contained, if it was refused. */
  readonly invitation?: { readonly name: string; readonly mail: string; readonly role: string }
  readonly errors?: Readonly<Record<string, string>>
}

/** All people, and a form that invites one. */
export function People({ people, invitation, errors = {} }: PeopleData) {
  const { words, href, time } = useDesk()
  return (
    <DeskLayout title={words.people}>
      <ul class="rows">
        {people.map((person) => (
          <li key={person.id}>
            <div>
              <a href={href(deskPaths.person(person.id))}>{person.name}</a>{' '}
              <span class="mark">{words.roles[person.role]}</span>{' '}
              {person.disabled !== null && <span class="mark warn">{words.disabled}</span>}
              <p class="help">
                {[
                  person.mail,
                  ...person.events.map(({ title }) => words.editorOf(title)),
                  words.passkeyCount(person.passkeys),
                  `${words.lastSeen}: ${person.last_seen ? time(person.last_seen) : words.never}`,
                ]
                  .filter(Boolean)
                  .join(' · ')}
              </p>
            </div>
          </li>
        ))}
      </ul>
      <section>
        <h2>{words.invite}</h2>
        <p class="help">{words.inviteHelp}</p>
        <Form action={deskPaths.people}>
          <Field
            label={words.name}
            name="name"
            value={invitation?.name}
            error={errors.name}
            maxLength={100}
            autocomplete="off"
            required
          />
          <Field
            label={`${words.mail} (${words.optional})`}
            name="mail"
            type="email"
            value={invitation?.mail}
            error={errors.mail}
            maxLength={254}
            autocomplete="off"
          />
          <RoleField value={invitation?.role ?? 'editor'} />
          <button type="submit">{words.inviteButton}</button>
        </Form>
      </section>
    </DeskLayout>
  )
}

export interface PersonData {
  readonly person: PersonRow
  readonly isSelf: boolean
  /** What the form of events contained, if it was refused. */
  readonly event?: string
  readonly errors?: Readonly<Record<string, string>>
}

/** One person: role, events, link, sessions. */
export function PersonPage({ person, isSelf, event, errors = {} }: PersonData) {
  const { words, href } = useDesk()
  return (
    <DeskLayout title={person.name}>
      <p>
        <a href={href(deskPaths.people)}>{words.people}</a>
      </p>
      <Form action={deskPaths.person(person.id)}>
        <Field label={words.name} name="name" value={person.name} maxLength={100} required />
        {isSelf ? <p class="help">{words.yourself}</p> : <RoleField value={person.role} />}
        <button type="submit">{words.save}</button>
      </Form>
      <section>
        <h2>{words.events}</h2>
        <p class="help">{words.eventsHelp}</p>
        <ul class="rows">
          {person.events.map(({ id, title }) => (
            <li key={id}>
              <span>{title}</span>
              <Form action={deskPaths.personEvents(person.id)}>
                <input type="hidden" name="event" value={title} />
                <input type="hidden" name="remove" value="1" />
                <button type="submit" class="quiet" aria-label={`${words.remove}: ${title}`}>
                  {words.remove}
                </button>
              </Form>
            </li>
          ))}
        </ul>
        <Form action={deskPaths.personEvents(person.id)}>
          <Field
            label={words.event}
            name="event"
            value={event}
            error={errors.event}
            maxLength={255}
            autocomplete="off"
            required
          />
          <button type="submit">{words.addEvent}</button>
        </Form>
      </section>
      <section>
        <h2>{words.newLink}</h2>
        <p class="help">{words.newLinkHelp}</p>
        <Form action={deskPaths.personLink(person.id)}>
          <button type="submit" disabled={person.disabled !== null}>
            {words.newLink}
          </button>
        </Form>
      </section>
      {!isSelf && (
        <section>
          <h2>{words.sessions}</h2>
          <Form action={deskPaths.personSessions(person.id)}>
            <button type="submit">{words.endSessions}</button>
          </Form>
          {person.disabled === null && <p class="help">{words.disableHelp}</p>}
          <Form action={deskPaths.personDisabled(person.id)}>
            <input type="hidden" name="disabled" value={person.disabled === null ? '1' : ''} />
            <button type="submit" class={person.disabled === null ? 'danger' : undefined}>
              {person.disabled === null ? words.disable : words.enable}
            </button>
          </Form>
        </section>
      )}
    </DeskLayout>
  )
}

export interface LinkCreatedData {
  readonly id: number
  readonly name: string
  readonly url: string
  readonly code: string
}

/** A new link, which is shown once. */
export function LinkCreated({ id, name, url, code }: LinkCreatedData) {
  const { words, href } = useDesk()
  return (
    <DeskLayout title={words.linkCreated(name)}>
      <p>{words.linkCreatedHelp}</p>
      <SecretField label={words.newLink} value={url} />
      <SecretField label={words.linkCode} value={code} />
      <p>
        <a href={href(deskPaths.person(id))}>{name}</a> ·{' '}
        <a href={href(deskPaths.people)}>{words.people}</a>
      </p>
    </DeskLayout>
  )
}
