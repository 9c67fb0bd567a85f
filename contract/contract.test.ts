import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as contract from './contract.ts'

test('every endpoint is in the table under its name', () => {
  const exported = Object.entries(contract).flatMap(([key, value]) =>
    key.endsWith('Endpoint') ? [[key, (value as contract.Endpoint).name]] : [],
  )
  const listed = Object.entries<contract.Endpoint>({
    ...contract.endpoints,
    ...contract.streamEndpoints,
  })
  for (const [key, { name }] of listed) assert.equal(key, name)
  assert.deepEqual(
    exported.map(([, name]) => name).sort(),
    listed.map(([name]) => name).sort(),
    'an endpoint is missing in the list of its file in contract/',
  )
  for (const [key, name] of exported) assert.equal(key, `${name}Endpoint`)
})
