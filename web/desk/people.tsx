import { deskPaths } from '../paths.ts'
import { Field, Form, RoleField, SecretField, SendField } from './form.tsx'
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
  /** Whether links can be sent by mail. */
  readonly hasMail: boolean
  /** What the invitation form contained, if it was refused. */
  readonly invitation?: { readonly name: string; readonly mail: string; readonly role: string }
  readonly errors?: Readonly<Record<string, string>>
}

/** All people, and a form that invites one. */
export function People({ people, hasMail, invitation, errors = {} }: PeopleData) {
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
          {hasMail && <SendField />}
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
  readonly hasMail: boolean
  /** What the form contained, if it was refused. */
  readonly typed?: { readonly name: string; readonly mail: string }
  /** What the form of events contained, if it was refused. */
  readonly event?: string
  readonly errors?: Readonly<Record<string, string>>
}

/** One person: name, mail address, role, events, link, sessions. */
export function PersonPage({ person, isSelf, hasMail, typed, event, errors = {} }: PersonData) {
  const { words, href } = useDesk()
  return (
    <DeskLayout title={person.name}>
      <p>
        <a href={href(deskPaths.people)}>{words.people}</a>
      </p>
      <Form action={deskPaths.person(person.id)}>
        <input type="hidden" name="name_before" value={person.name} />
        <Field
          label={words.name}
          name="name"
          value={typed?.name ?? person.name}
          error={errors.name}
          maxLength={100}
          required
        />
        <input type="hidden" name="mail_before" value={person.mail ?? ''} />
        <Field
          label={`${words.mail} (${words.optional})`}
          name="mail"
          type="email"
          help={words.mailHelp}
          value={typed?.mail ?? person.mail ?? ''}
          error={errors.mail}
          maxLength={254}
          autocomplete="off"
        />
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
          {hasMail && person.mail !== null && <SendField />}
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
  /** Whether the link is being sent by mail. */
  readonly mailed: { readonly to: string; readonly isQueued: boolean } | undefined
}

/** A new link, which is shown once. */
export function LinkCreated({ id, name, url, code, mailed }: LinkCreatedData) {
  const { words, href } = useDesk()
  return (
    <DeskLayout title={words.linkCreated(name)}>
      {mailed && (
        <p class="notice" role="status">
          {mailed.isQueued ? words.linkMailed(mailed.to) : words.linkNotMailed}
        </p>
      )}
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
