import { deskPages, deskPaths } from '@talkshelf/web'
import { createToken, listTokens, recordEvent, revokeToken } from '../auth/auth.ts'
import type { Pool } from '../platform/db/pool.ts'
import { parseId } from '../platform/http/pages.ts'
import { auditOrigin, type Desk } from './mount.ts'

// The page that manages API tokens. Only administrators see it.

/** Mounts the page of tokens and its forms. */
export function tokenPages(desk: Desk, pool: Pool): void {
  const access = { role: 'admin', isDangerous: true, page: deskPaths.tokens } as const
  desk.page(deskPaths.tokens, access, async (request) =>
    desk.render(request, [deskPages.tokens, { tokens: await listTokens(pool) }]),
  )
  desk.form(deskPaths.tokens, access, async (request) => {
    const { form } = request
    const name = (form.get('name') ?? '').replaceAll(/\p{C}/gu, '').trim()
    const days = Number(form.get('days'))
    const role = form.get('role') === 'admin' ? 'admin' : 'editor'
    const errors = {
      ...((name === '' || name.length > 100) && { name: '1–100' }),
      ...(!(Number.isInteger(days) && days >= 1 && days <= 3650) && { days: '1–3650' }),
    }
    if (Object.keys(errors).length > 0) {
      const data = { tokens: await listTokens(pool), errors }
      return desk.render(request, [deskPages.tokens, data], 400)
    }
    const { token } = await pool.transaction(async (tx) => {
      const created = await createToken(tx, { name, role, days, person: request.session.person.id })
      const detail = { token: created.id, name, role }
      await recordEvent(tx, 'token-created', auditOrigin(request), null, detail)
      return created
    })
    const data = { tokens: await listTokens(pool), created: { name, token } }
    return desk.render(request, [deskPages.tokens, data])
  })
  desk.form(deskPaths.revokeToken, access, async (request) => {
    const id = parseId(request.form.get('id') ?? '')
    if (id !== undefined)
      await pool.transaction(async (tx) => {
        if ((await revokeToken(tx, id)) > 0)
          await recordEvent(tx, 'token-revoked', auditOrigin(request), null, { token: id })
      })
    return desk.redirect(request, `${deskPaths.tokens}?done=revoked`)
  })
}
