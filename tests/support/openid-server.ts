import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

// A real OpenID Connect provider in a process of its own. Prints its issuer URL. The person who
// signs in is the `login_hint` of the request. `POST /tamper` with a JSON body sets what the next ID
// tokens say instead of the truth: claims, `alg`, a foreign key, or a response of many bytes.

interface Tampering {
  readonly claims?: Record<string, unknown>
  readonly alg?: string
  readonly hasForeignKey?: boolean
  readonly responseBytes?: number
}

const makeKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const key = makeKey()
const foreignKey = makeKey()
const [clientSecret = '', redirectUrl = '', port = '0'] = process.argv.slice(2)
let tampering: Tampering = {}

const server = createServer()
server.listen(Number(port), '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'talkshelf',
        client_secret: clientSecret,
        redirect_uris: [redirectUrl],
      },
    ],
    jwks: { keys: [{ ...key.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['only for tests'] },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    async loadExistingGrant({ oidc }) {
      const grant = new provider.Grant({
        clientId: String(oidc.client?.clientId),
        accountId: String(oidc.session?.accountId),
      })
      grant.addOIDCScope('openid')
      await grant.save()
      return grant
    },
  })
  provider.use(async (context, next) => {
    if (context.path === '/tamper') {
      const chunks: Buffer[] = []
      for await (const chunk of context.req) chunks.push(chunk)
      tampering = JSON.parse(Buffer.concat(chunks).toString())
      context.status = 204
      return
    }
    if (context.path.startsWith('/interaction/')) {
      const { params } = await provider.interactionDetails(context.req, context.res)
      const login = { accountId: String(params.login_hint) }
      const result = params.login_hint === 'denied' ? { error: 'access_denied' } : { login }
      await provider.interactionFinished(context.req, context.res, result)
      context.respond = false
      return
    }
    await next()
    const body = context.body as { id_token?: string; padding?: string } | undefined
    if (context.path !== '/token' || typeof body?.id_token !== 'string') return
    if (tampering.responseBytes) body.padding = 'x'.repeat(tampering.responseBytes)
    body.id_token = tamper(body.id_token)
  })
  server.on('request', provider.callback())
  process.stdout.write(`${issuer}\n`)
})

/** Changes the claims of an ID token and signs it again. */
function tamper(token: string): string {
  const { claims = {}, alg, hasForeignKey } = tampering
  const [header, payload] = token
    .split('.', 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
  const parts = [
    { ...header, ...(alg && { alg }) },
    { ...payload, ...claims },
  ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  const signedText = parts.join('.')
  if (alg === 'none') return `${signedText}.`
  const signingKey = hasForeignKey
    ? foreignKey
    : createPrivateKey(key.export({ type: 'pkcs8', format: 'pem' }))
  return `${signedText}.${sign('sha256', Buffer.from(signedText), signingKey).toString('base64url')}`
}
