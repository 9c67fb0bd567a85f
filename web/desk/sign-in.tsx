import type { DeskMessages } from '../messages/desk-en.ts'
import { deskPaths } from '../paths.ts'
import { Field, Form, passkeyAttributes } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { OpenidButton } from './openid.tsx'
import { useDesk } from './view.ts'

export type Refusal = keyof DeskMessages['refused']

export interface SignInData {
  /** Options of WebAuthn. */
  readonly options: unknown
  /** Where to go afterwards. */
  readonly to: string
  readonly refused?: Refusal | undefined
  /** Whether links can be sent by mail. */
  readonly hasMail: boolean
  /** Name of the OpenID Connect provider, if the site has one. */
  readonly provider: string | undefined
}

/** The page that signs a person in with a passkey, or sends a link. */
export function SignIn({ options, to, refused, hasMail, provider }: SignInData) {
  const { words } = useDesk()
  return (
    <DeskLayout title={words.signIn}>
      <Refused reason={refused} />
      <Form action={deskPaths.signIn} data={passkeyAttributes('get', options, words)}>
        <input type="hidden" name="credential" />
        <input type="hidden" name="to" value={to} />
        <PasskeyButton text={words.signInWithPasskey} />
      </Form>
      {provider !== undefined && (
        <OpenidButton action={deskPaths.openid} text={words.signInWith(provider)} to={to} />
      )}
      <h2>{words.noPasskey}</h2>
      {hasMail && (
        <Form action={deskPaths.mailLink}>
          <Field
            label={words.mail}
            help={words.mailLinkHelp}
            name="mail"
            type="email"
            autocomplete="email"
            maxLength={254}
            required
          />
          <button type="submit">{words.sendLink}</button>
        </Form>
      )}
      <p>{words.noPasskeyHelp}</p>
    </DeskLayout>
  )
}

/** The page after asking for a link by mail. It is the same if the address is not known. */
export function MailSent({ code }: { code: string }) {
  const { words, href } = useDesk()
  return (
    <DeskLayout title={words.mailSentTitle}>
      <p>{words.mailSentHelp}</p>
      <p>
        {words.mailSentCode} <strong class="code">{code}</strong>
      </p>
      <p>
        <a href={href(deskPaths.signIn)}>{words.signIn}</a>
      </p>
    </DeskLayout>
  )
}

export interface LinkData {
  readonly secret: string
  readonly name: string
  /** Undefined if the person asked for the link: then it creates no passkey. */
  readonly options: unknown
  /** Whether the link was asked for in this browser: then it needs no code. */
  readonly isSameBrowser: boolean
  /** Name of the OpenID Connect provider, if the site has one. */
  readonly provider: string | undefined
  readonly refused?: Refusal | undefined
}

/** The page of a sign-in link. */
export function LinkPage(data: LinkData) {
  const { words } = useDesk()
  const { secret, name, options, provider, refused } = data
  return (
    <DeskLayout title={words.linkTitle(name)}>
      <Refused reason={refused === 'code' ? undefined : refused} />
      {options === undefined ? (
        <RequestedLink {...data} />
      ) : (
        <Invitation {...{ secret, options, provider, refused }} />
      )}
    </DeskLayout>
  )
}

/** The forms of an invitation: a passkey, or the code. */
function Invitation(data: Omit<LinkData, 'name' | 'isSameBrowser'>) {
  const { words } = useDesk()
  const { secret, options, provider, refused } = data
  return (
    <>
      <p>{words.linkHelp}</p>
      <Form action={deskPaths.link(secret)} data={passkeyAttributes('create', options, words)}>
        <input type="hidden" name="credential" />
        <PasskeyButton text={words.createPasskey} />
      </Form>
      {provider !== undefined && (
        <OpenidButton action={deskPaths.openidLink(secret)} text={words.signInWith(provider)} />
      )}
      <details open={refused === 'code'}>
        <summary>{words.withoutPasskey}</summary>
        <CodeForm secret={secret} help={words.codeHelp} isWrong={refused === 'code'} />
      </details>
    </>
  )
}

/** The form of a link that the person asked for. Only another browser needs the code. */
function RequestedLink({ secret, isSameBrowser, refused }: LinkData) {
  const { words } = useDesk()
  if (!isSameBrowser)
    return <CodeForm secret={secret} help={words.otherBrowser} isWrong={refused === 'code'} />
  return (
    <Form action={deskPaths.linkCode(secret)}>
      <button type="submit">{words.signIn}</button>
    </Form>
  )
}

interface CodeFormProps {
  readonly secret: string
  readonly help: string
  readonly isWrong: boolean
}

function CodeForm({ secret, help, isWrong }: CodeFormProps) {
  const { words } = useDesk()
  return (
    <Form action={deskPaths.linkCode(secret)}>
      <Field
        label={words.code}
        help={help}
        error={isWrong ? words.refused.code : undefined}
        name="code"
        inputMode="numeric"
        autocomplete="one-time-code"
        maxLength={10}
        required
      />
      <button type="submit">{words.signIn}</button>
    </Form>
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
  /** Name of the OpenID Connect provider, if the person has an account there. */
  readonly provider: string | undefined
  readonly refused?: Refusal | undefined
}

/** The page that asks for a passkey before a dangerous action. */
export function Confirm({ options, to, provider, refused }: ConfirmData) {
  const { words, href } = useDesk()
  return (
    <DeskLayout title={words.confirmTitle}>
      <Refused reason={refused} />
      {provider !== undefined && (
        <OpenidButton action={deskPaths.openidConfirm} text={words.confirmWith(provider)} to={to} />
      )}
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
