import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeSecret } from './secret.ts'
import { describeRefusal, SignInRefused } from './sign-in-refused.ts'

test('describes the causes of a refusal without secrets, in limited length', () => {
  const secret = makeSecret()
  const inner = new Error(`unexpected challenge "${secret}", ${'word '.repeat(1000)}`)
  const refusal = new SignInRefused('passkey', new Error('not valid', { cause: inner }))
  const { reason, cause = '' } = describeRefusal(refusal)
  assert.equal(reason, 'passkey')
  assert.match(cause, /^not valid: unexpected challenge "\(removed\)"/)
  assert.ok(!cause.includes(secret) && cause.length <= 300)
  assert.deepEqual(describeRefusal(new SignInRefused('link')), { reason: 'link' })
})
