import { deskPaths } from '../paths.ts'
import { Field, Form, passkeyAttributes } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { Identities, type IdentitiesData } from './openid.tsx'
import { PasskeyButton, type Refusal } from './sign-in.tsx'
import { useDesk } from './view.ts'

export interface AccountData extends IdentitiesData {
  readonly passkeys: readonly {
    readonly id: string
    readonly name: string
    readonly host: string
    readonly created: string
    readonly last_used: string | null
  }[]
  /** The host of this site: passkeys of other hosts do not work here. */
  readonly host: string
  readonly sessions: readonly {
    readonly id: string
    readonly method: string
    readonly created: string
    readonly last_seen: string
    readonly user_agent: string
    readonly is_current: boolean
  }[]
  /** Undefined if the person has to confirm first. */
  readonly options: unknown
  readonly refused?: Refusal | undefined
}

/** The account of the person who is signed in: passkeys and sessions. */
export function Account(data: AccountData) {
  const { words } = useDesk()
  return (
    <DeskLayout title={words.account}>
      <Passkeys {...data} />
      <Identities {...data} />
      <Sessions {...data} />
    </DeskLayout>
  )
}

function Passkeys({ passkeys, host, options, refused }: AccountData) {
  const { words, time, href } = useDesk()
  return (
    <section>
      <h2>{words.passkeys}</h2>
      {passkeys.length === 0 && <p>{words.passkeysNone}</p>}
      <ul class="rows">
        {passkeys.map((passkey) => (
          <li key={passkey.id}>
            <div>
              <b>{passkey.name}</b> {passkey.host !== host && words.otherHost(passkey.host)}
              <p class="help">
                {words.created} {time(passkey.created)} · {words.lastUsed}{' '}
                {passkey.last_used === null ? words.never : time(passkey.last_used)}
              </p>
            </div>
            {options !== undefined && (
              <Form action={deskPaths.removePasskey}>
                <input type="hidden" name="id" value={passkey.id} />
                <button type="submit" class="quiet" aria-label={`${words.remove}: ${passkey.name}`}>
                  {words.remove}
                </button>
              </Form>
            )}
          </li>
        ))}
      </ul>
      {refused !== undefined && (
        <p class="error" role="alert">
          {words.refused[refused]}
        </p>
      )}
      <p class="help">{words.passkeysHelp}</p>
      {options === undefined ? (
        <p>
          <a href={href(`${deskPaths.confirm}?to=${deskPaths.account}`)}>{words.confirmFirst}</a>
        </p>
      ) : (
        <Form action={deskPaths.addPasskey} data={passkeyAttributes('create', options, words)}>
          <input type="hidden" name="credential" />
          <Field
            label={words.passkeyName}
            name="name"
            value={words.defaultPasskeyName}
            maxLength={100}
            required
          />
          <PasskeyButton text={words.addPasskey} />
        </Form>
      )}
    </section>
  )
}

function Sessions({ sessions }: AccountData) {
  const { words, time } = useDesk()
  return (
    <section>
      <h2>{words.sessions}</h2>
      <ul class="rows">
        {sessions.map((session) => (
          <li key={session.id}>
            <div>
              <b>{browserName(session.user_agent)}</b>{' '}
              {session.is_current && <span class="mark">{words.thisSession}</span>}
              <p class="help">
                {words.lastSeen} {time(session.last_seen)} · {words.signedInWith[session.method]}
              </p>
            </div>
            {!session.is_current && (
              <Form action={deskPaths.endSession}>
                <input type="hidden" name="id" value={session.id} />
                <button type="submit" class="quiet">
                  {words.endSession}
                </button>
              </Form>
            )}
          </li>
        ))}
      </ul>
      {sessions.length > 1 && (
        <Form action={deskPaths.endOtherSessions}>
          <button type="submit">{words.endOtherSessions}</button>
        </Form>
      )}
    </section>
  )
}

/** Returns the browser and system of a User-Agent header, as far as it is one of a few. */
function browserName(userAgent: string): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(userAgent)?.[1]
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|CrOS|Linux)/.exec(userAgent)?.[1]
  const names: Record<string, string> = { Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' }
  const parts = [browser, system].filter((part) => part !== undefined)
  return parts.map((part) => names[part] ?? part).join(', ') || userAgent.slice(0, 60) || '?'
}
