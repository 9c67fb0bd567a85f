import { deskPaths } from '../paths.ts'
import { Form } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

// The links with which a speaker confirms and corrects talks, and what speakers ask for.

export interface SpeakerLinksData {
  readonly slug: string
  readonly title: string
  /** A link that was just created. It is shown once. */
  readonly url: string | undefined
  readonly links: readonly {
    readonly id: number
    readonly actor: string
    readonly created: string
    readonly expires: string
    readonly last_used: string | null
  }[]
  readonly confirmations: readonly {
    readonly video: number
    readonly revision: number
    readonly at: string
    readonly title: string
  }[]
}

/** The links of a speaker, and what the speaker has confirmed. */
export function SpeakerLinks({ slug, title, url, links, confirmations }: SpeakerLinksData) {
  const { words, href, time } = useDesk()
  const text = words.speakerLinks
  const path = deskPaths.speakerLinks(slug)
  return (
    <DeskLayout title={text.title(title)}>
      <p>
        <a href={href(deskPaths.speaker(slug))}>{words.entities.back}</a>
      </p>
      <p>{text.help}</p>
      {url !== undefined && (
        <div class="notice" role="status">
          <p>{text.created}</p>
          <p>
            <code class="long">{url}</code>
          </p>
        </div>
      )}
      <Form action={path}>
        <button type="submit">{text.create}</button>
      </Form>
      {links.length > 0 && (
        <section>
          <h2>{text.links}</h2>
          <ul class="rows">
            {links.map(({ id, actor, created, expires, last_used }) => (
              <li key={id}>
                <p>
                  {text.createdBy(actor, time(created))} · {text.until(time(expires))}
                  {last_used !== null && ` · ${text.lastUsed(time(last_used))}`}
                </p>
                <Form action={path}>
                  <input type="hidden" name="revoke" value={String(id)} />
                  <button type="submit" class="quiet">
                    {text.revoke}
                  </button>
                </Form>
              </li>
            ))}
          </ul>
        </section>
      )}
      {confirmations.length > 0 && (
        <section>
          <h2>{text.confirmations}</h2>
          <ul>
            {confirmations.map(({ video, revision, at, title: talk }) => (
              <li key={video}>
                <a href={href(deskPaths.talk(video))} dir="auto">
                  {talk || video}
                </a>{' '}
                {text.confirmed(revision, time(at))}
              </li>
            ))}
          </ul>
        </section>
      )}
    </DeskLayout>
  )
}

export interface ListedRequest {
  readonly id: number
  readonly kind: 'profile' | 'name' | 'removal'
  readonly comment: string
  readonly created: string
  readonly name: string
  readonly slug: string
}

/** What speakers ask for, in the inbox. */
export function SpeakerRequests({ requests }: { requests: readonly ListedRequest[] }) {
  const { words, href, age, person } = useDesk()
  const text = words.speakerLinks
  const isAdmin = person?.role === 'admin'
  if (requests.length === 0) return null
  return (
    <section>
      <h2>{text.requests}</h2>
      <ul class="rows">
        {requests.map(({ id, kind, comment, created, name, slug }) => (
          <li key={id}>
            <div>
              <p>
                <b>{text.kinds[kind]}</b> ·{' '}
                <a
                  href={href(
                    kind === 'name' && isAdmin
                      ? deskPaths.speakerName(slug)
                      : deskPaths.speaker(slug),
                  )}
                  dir="auto"
                >
                  {name}
                </a>{' '}
                · <time dateTime={created}>{age(created)}</time>
              </p>
              <p class="lines" dir="auto">
                {comment}
              </p>
            </div>
            <Form action={deskPaths.closeSpeakerRequest(id)}>
              <button type="submit" class="quiet" aria-label={text.closeOf(name)}>
                {text.close}
              </button>
            </Form>
          </li>
        ))}
      </ul>
    </section>
  )
}
