import { deskPages, deskPaths } from '@talkshelf/web'
import {
  addPasskey,
  endSession,
  listIdentities,
  listPasskeys,
  passkeyCreationOptions,
  type RefusalReason,
  removePasskey,
  sessionsOf,
} from '../auth/auth.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { Desk, DeskRequest } from './mount.ts'
import { signInContext } from './sign-in.ts'

// The account of the person who is signed in.

/** Mounts the page of the account and its forms. */
export function accountPages(
  desk: Desk,
  pool: Pool,
  siteName: string,
  provider: string | undefined,
): void {
  const show = async (request: DeskRequest, refused?: RefusalReason) => {
    const { session } = request
    const context = signInContext(desk, request, siteName)
    const data = {
      passkeys: await listPasskeys(pool, session.person.id),
      host: new URL(context.origin).hostname,
      sessions: await sessionsOf(pool, session),
      identities: await listIdentities(pool, session.person.id),
      provider,
      canChange: session.isStrong,
      // After ten minutes a new passkey would not be accepted, but the device would have it.
      options: session.isStrong
        ? await passkeyCreationOptions(pool, context, session.person)
        : undefined,
      refused,
    }
    return desk.render(request, [deskPages.account, data], refused ? 403 : 200)
  }
  const access = { role: 'suggester', page: deskPaths.account } as const
  // Adding a passkey would let a stolen session last.
  const dangerous = { ...access, isDangerous: true } as const
  const done = (request: DeskRequest, what: string) =>
    desk.redirect(request, `${deskPaths.account}?done=${what}`)

  desk.page(deskPaths.account, access, (request) => show(request))
  desk.form(deskPaths.addPasskey, dangerous, (request) =>
    desk.orRefused(
      request,
      async () => {
        const typed = (request.form.get('name') ?? '').replaceAll(/\p{C}/gu, '')
        const name = typed.trim().slice(0, 100) || 'Passkey'
        const context = signInContext(desk, request, siteName)
        const response = request.form.get('credential') ?? ''
        await addPasskey(pool, context, request.session, response, name)
        return done(request, 'passkey-added')
      },
      (reason) => show(request, reason),
    ),
  )
  desk.form(deskPaths.removePasskey, dangerous, async (request) => {
    await removePasskey(pool, request.session, request.form.get('id') ?? '', request.requestId)
    return done(request, 'passkey-removed')
  })
  desk.form(deskPaths.endSession, access, async (request) => {
    await endSession(pool, request.session, { id: request.form.get('id') ?? '' })
    return done(request, 'session-ended')
  })
  desk.form(deskPaths.endOtherSessions, access, async (request) => {
    await endSession(pool, request.session, 'others')
    return done(request, 'sessions-ended')
  })
}
