import { deskPaths } from '../paths.ts'
import { Field, Form, passkeyAttributes } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

type Refusal = 'link' | 'code' | 'passkey' | 'unknown-passkey'

export interface SignInData {
  /** Options of WebAuthn. */
  readonly options: unknown
  /** Where to go afterwards. */
  readonly to: string
  readonly refused?: Refusal | undefined
}

/** The page that signs a person in with a passkey. */
export function SignIn({ options, to, refused }: SignInData) {
  const { words } = useDesk()
  return (
    <DeskLayout title={words.signIn}>
      <Refused reason={refused} />
      <Form action={deskPaths.signIn} data={passkeyAttributes('get', options, words)}>
        <input type="hidden" name="credential" />
        <input type="hidden" name="to" value={to} />
        <PasskeyButton text={words.signInWithPasskey} />
      </Form>
      <h2>{words.noPasskey}</h2>
      <p>{words.noPasskeyHelp}</p>
    </DeskLayout>
  )
}

export interface LinkData {
  readonly secret: string
  readonly name: string
  readonly options: unknown
  readonly refused?: Refusal | undefined
}

/** The page of a sign-in link. */
export function LinkPage({ secret, name, options, refused }: LinkData) {
  const { words } = useDesk()
  return (
    <DeskLayout title={words.linkTitle(name)}>
      <Refused reason={refused === 'code' ? undefined : refused} />
      <p>{words.linkHelp}</p>
      <Form action={deskPaths.link(secret)} data={passkeyAttributes('create', options, words)}>
        <input type="hidden" name="credential" />
        <PasskeyButton text={words.createPasskey} />
      </Form>
      <details open={refused === 'code'}>
        <summary>{words.withoutPasskey}</summary>
        <Form action={deskPaths.linkCode(secret)}>
          <Field
            label={words.code}
            help={words.codeHelp}
            error={refused === 'code' ? words.refused.code : undefined}
            name="code"
            inputMode="numeric"
            autocomplete="one-time-code"
            maxLength={10}
            required
          />
          <button type="submit">{words.signIn}</button>
        </Form>
      </details>
    </DeskLayout>
  )
}

/** The page of a link that no longer works. */
export function LinkRefused() {
  const { words } = useDesk()
  return (
    <DeskLayout title={words.signIn}>
      <Refused reason="link" />
    </DeskLayout>
  )
}

export interface ConfirmData {
  /** Undefined if the person has no passkey for this host. */
  readonly options: unknown
  readonly to: string
  readonly refused?: Refusal | undefined
}

/** The page that asks for a passkey before a dangerous action. */
export function Confirm({ options, to, refused }: ConfirmData) {
  const { words, href } = useDesk()
  return (
    <DeskLayout title={words.confirmTitle}>
      <Refused reason={refused} />
      {options === undefined ? (
        <p>
          {words.confirmWithoutPasskey} <a href={href(deskPaths.account)}>{words.account}</a>
        </p>
      ) : (
        <>
          <p>{words.confirmHelp}</p>
          <Form action={deskPaths.confirm} data={passkeyAttributes('get', options, words)}>
            <input type="hidden" name="credential" />
            <input type="hidden" name="to" value={to} />
            <PasskeyButton text={words.confirm} />
          </Form>
        </>
      )}
    </DeskLayout>
  )
}

export interface ForbiddenData {
  readonly role: 'suggester' | 'editor' | 'admin'
}

/** The page for people whose role does not allow what they asked for. */
export function Forbidden({ role }: ForbiddenData) {
  const { words, href } = useDesk()
  return (
    <DeskLayout title={words.forbiddenTitle}>
      <p>{words.forbiddenHelp(words.roles[role])}</p>
      <p>
        <a href={href(deskPaths.home)}>{words.desk}</a>
      </p>
    </DeskLayout>
  )
}

/** A button that works with scripts only, and a note for browsers without. */
export function PasskeyButton({ text }: { text: string }) {
  const { words } = useDesk()
  return (
    <>
      <button type="submit" disabled>
        {text}
      </button>
      <p class="error" role="alert" data-passkey-error />
      <noscript>
        <p class="help">{words.scriptsNeeded}</p>
      </noscript>
    </>
  )
}

function Refused({ reason }: { reason: Refusal | undefined }) {
  const { words } = useDesk()
  if (reason === undefined) return null
  return (
    <p class="error" role="alert">
      {words.refused[reason]}
    </p>
  )
}
