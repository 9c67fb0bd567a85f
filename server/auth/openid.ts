import { deskPaths } from '@talkshelf/web'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { recordEvent } from './audit.ts'
import type { OpenidChecks, OpenidIdentity, OpenidProvider } from './openid-provider.ts'
import {
  deleteIdentity,
  findIdentity,
  insertChallenge,
  insertIdentity,
  takeOneTimeToken,
  touchIdentity,
} from './queries.ts'
import { hashSecret, isWellFormedSecret, makeSecret } from './secret.ts'
import { type Session, strengthenSession } from './sessions.ts'
import {
  lockEnabledPerson,
  originOf,
  readLink,
  type SignInContext,
  signIn,
  takeLink,
} from './sign-in.ts'
import { SignInRefused } from './sign-in-refused.ts'

// Signing in with an account of an OpenID Connect provider. An account belongs to a person only if
// the person connected it while signed in, or used it to accept an invitation. A mail address of
// the provider is never compared with ours.
//
// A flow starts with a cookie of 256 random bits. State, nonce and PKCE verifier are hashes of it,
// and its own hash is a challenge in the database, which works once and expires.

const kinds = ['sign-in', 'invitation', 'connect', 'confirm'] as const
export type OpenidKind = (typeof kinds)[number]

interface Flow {
  readonly kind: OpenidKind
  readonly secret: string
  /** The secret of the invitation, or the path to show afterwards. */
  readonly target: string
}

export interface OpenidStart {
  readonly cookie: string
  readonly url: string
}

const maxTargetLength = 1000

/** Starts a flow. Returns its cookie and the URL of the provider. Throws SignInRefused. */
export async function startOpenid(
  db: Db,
  provider: OpenidProvider,
  { kind, target, session }: Omit<Flow, 'secret'> & { readonly session?: Session },
  redirectUrl: string,
): Promise<OpenidStart> {
  const flow = { kind, target: target.slice(0, maxTargetLength), secret: makeSecret() }
  const cookie = formatFlow(flow)
  const url = await provider.authorizationUrl(checksOf(flow, cookie, redirectUrl))
  await insertChallenge(db, flowHash(flow), session?.person.id ?? null)
  return { cookie, url }
}

/** What a flow that has ended does next. */
export interface OpenidResult {
  readonly kind: OpenidKind
  readonly target: string
  /** The secret of the session; undefined if it did not change. */
  readonly session?: string
}

/**
 * Ends a flow: verifies the response of the provider, which is in the query of `url`, and signs in,
 * connects the account or confirms the session. Throws SignInRefused.
 */
export async function finishOpenid(
  pool: Pool,
  provider: OpenidProvider,
  context: SignInContext,
  { cookie, url, session }: { cookie: string; url: URL; session: Session | undefined },
): Promise<OpenidResult> {
  const flow = parseFlow(cookie)
  const redirectUrl = url.origin + url.pathname
  const checks = flow && checksOf(flow, cookie, redirectUrl)
  // Compared before the flow is used up, so that another site cannot end it.
  if (!flow || !checks || url.searchParams.get('state') !== checks.state)
    throw new SignInRefused('openid')
  const { kind, target } = flow
  const needsSession = kind === 'connect' || kind === 'confirm'
  const person = needsSession ? (session?.person.id ?? 0) : null
  const taken = await takeOneTimeToken(pool, flowHash(flow), 'challenge', null)
  if (!taken || taken.person_id !== person) throw new SignInRefused('openid')
  const identity = await provider.exchangeCode(url, checks)

  if (kind === 'sign-in')
    return { kind, target, session: await signInWithIdentity(pool, context, identity) }
  if (kind === 'invitation')
    return {
      kind,
      target: deskPaths.home,
      session: await acceptInvitation(pool, context, target, identity),
    }
  if (!session) throw new SignInRefused('openid')
  if (kind === 'confirm')
    return { kind, target, session: await confirmWithIdentity(pool, session, identity) }
  await connectIdentity(pool, context, session, identity)
  return { kind, target }
}

async function signInWithIdentity(
  pool: Pool,
  context: SignInContext,
  identity: OpenidIdentity,
): Promise<string> {
  const person = await findIdentity(pool, identity)
  if (!person) throw new SignInRefused('unknown-identity')
  return pool.transaction(async (tx) => {
    await lockEnabledPerson(tx, person.id)
    // It may have been removed since it was found.
    if ((await touchIdentity(tx, identity, person.id)) === 0)
      throw new SignInRefused('unknown-identity')
    return signIn(tx, person, 'openid', context)
  })
}

async function acceptInvitation(
  pool: Pool,
  context: SignInContext,
  link: string,
  identity: OpenidIdentity,
): Promise<string> {
  const owner = await readLink(pool, link, '')
  if (owner.isRequested) throw new SignInRefused('link')
  return pool.transaction(async (tx) => {
    await lockEnabledPerson(tx, owner.id)
    await takeLink(tx, link)
    await saveIdentity(tx, context, owner, identity)
    return signIn(tx, owner, 'openid', context)
  })
}

async function connectIdentity(
  pool: Pool,
  context: SignInContext,
  { person }: Session,
  identity: OpenidIdentity,
): Promise<void> {
  await pool.transaction(async (tx) => {
    await lockEnabledPerson(tx, person.id)
    await saveIdentity(tx, context, person, identity)
  })
}

async function confirmWithIdentity(
  pool: Pool,
  session: Session,
  identity: OpenidIdentity,
): Promise<string> {
  const person = await findIdentity(pool, identity)
  if (person?.id !== session.person.id) throw new SignInRefused('unknown-identity')
  return strengthenSession(pool, session)
}

/** Adds an identity to a person. Throws SignInRefused if it belongs to another person. */
async function saveIdentity(
  tx: Db,
  context: SignInContext,
  person: { readonly id: number; readonly name: string },
  identity: OpenidIdentity,
): Promise<void> {
  if ((await insertIdentity(tx, identity, person.id)) > 0) {
    const detail = { issuer: identity.issuer }
    await recordEvent(tx, 'identity-added', originOf(person, context), person.id, detail)
  } else if ((await findIdentity(tx, identity))?.id !== person.id)
    throw new SignInRefused('identity-taken')
}

/** Removes the identities of an issuer from a person who is signed in. */
export async function removeIdentity(
  pool: Pool,
  { person }: Session,
  identity: OpenidIdentity,
  request: string,
): Promise<void> {
  await pool.transaction(async (tx) => {
    if ((await deleteIdentity(tx, identity, person.id)) === 0) return
    const detail = { issuer: identity.issuer }
    await recordEvent(tx, 'identity-removed', originOf(person, { request }), person.id, detail)
  })
}

/** The sign-in at the provider must be as recent as a passkey for dangerous actions. */
const confirmSeconds = 600

function checksOf({ kind }: Flow, cookie: string, redirectUrl: string): OpenidChecks {
  const derive = (name: string) => hashSecret(`${name} ${cookie}`).toString('base64url')
  return {
    redirectUrl,
    state: derive('state'),
    nonce: derive('nonce'),
    verifier: derive('verifier'),
    ...(kind === 'confirm' && { maxAge: confirmSeconds }),
  }
}

const flowHash = ({ secret }: Flow) => hashSecret(`openid ${secret}`)

function formatFlow({ kind, secret, target }: Flow): string {
  return [kind, secret, Buffer.from(target).toString('base64url')].join('.')
}

function parseFlow(cookie: string): Flow | undefined {
  const [name, secret = '', target = ''] = cookie.split('.')
  const kind = kinds.find((kind) => kind === name)
  if (kind === undefined || !isWellFormedSecret(secret)) return undefined
  return { kind, secret, target: Buffer.from(target, 'base64url').toString() }
}
