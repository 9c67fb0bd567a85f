import { deskPaths } from '../paths.ts'
import { Form } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

interface StartData {
  readonly url: string
  readonly provider: string
}

/** The page that leads to the provider. */
export function OpenidStart({ url, provider }: StartData) {
  const { words } = useDesk()
  return (
    <DeskLayout title={words.signInWith(provider)} refreshTo={url}>
      <p>
        <a href={url} rel="noreferrer">
          {words.continueTo(provider)}
        </a>
      </p>
    </DeskLayout>
  )
}

interface RefusedData {
  readonly reason: string
  readonly provider: string
}

/** The page after a sign-in with the provider that was not accepted. */
export function OpenidRefused({ reason, provider }: RefusedData) {
  const { words, href, person } = useDesk()
  const messages: Readonly<Record<string, string>> = words.refused
  return (
    <DeskLayout title={words.signInWith(provider)}>
      <p class="error" role="alert">
        {messages[reason] ?? words.refused.openid}
      </p>
      <p>
        {person ? (
          <a href={href(deskPaths.account)}>{words.account}</a>
        ) : (
          <a href={href(deskPaths.signIn)}>{words.signIn}</a>
        )}
      </p>
    </DeskLayout>
  )
}

interface ButtonProps {
  readonly action: string
  readonly text: string
  /** Where to go afterwards. */
  readonly to?: string
}

/** A button that starts a sign-in with the provider. */
export function OpenidButton({ action, text, to }: ButtonProps) {
  return (
    <Form action={action}>
      {to !== undefined && <input type="hidden" name="to" value={to} />}
      <button type="submit">{text}</button>
    </Form>
  )
}

export interface IdentitiesData {
  readonly identities: readonly {
    readonly issuer: string
    readonly subject: string
    readonly created: string
    readonly last_used: string | null
  }[]
  /** Name of the provider, if the site has one. */
  readonly provider: string | undefined
  /** Whether accounts can be connected and removed without confirmation. */
  readonly canChange: boolean
}

/** The accounts of a provider with which a person can sign in. */
export function Identities({ identities, provider, canChange }: IdentitiesData) {
  const { words, time } = useDesk()
  if (provider === undefined && identities.length === 0) return null
  return (
    <section>
      <h2>{words.identities}</h2>
      <ul class="rows">
        {identities.map(({ issuer, subject, last_used }) => (
          <li key={`${issuer} ${subject}`}>
            <div>
              <b>{new URL(issuer).host}</b> {subject}
              <p class="help">
                {words.lastUsed} {last_used === null ? words.never : time(last_used)}
              </p>
            </div>
            {canChange && (
              <Form action={deskPaths.removeIdentity}>
                <input type="hidden" name="issuer" value={issuer} />
                <input type="hidden" name="subject" value={subject} />
                <button type="submit" class="quiet" aria-label={`${words.remove}: ${subject}`}>
                  {words.remove}
                </button>
              </Form>
            )}
          </li>
        ))}
      </ul>
      {provider !== undefined && canChange && (
        <OpenidButton action={deskPaths.openidConnect} text={words.connect(provider)} />
      )}
    </section>
  )
}
