import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  findDeprecated,
  findLicences,
  findMissingHashes,
  findTooMany,
  findVulnerable,
  listPackages,
  maxPackages,
} from '../../scripts/supply-chain.ts'
import { billOfMaterials, readLock, thirdPartyLicences } from '../../scripts/third-party.ts'
import { root } from '../support/harness.ts'

// The checks of `npm run supply-chain` that need no registry, and each of them with a mistake.

const lock = readLock()
const sax = 'node_modules/sax'

test('there are not more packages than before', (t) => {
  const listed = listPackages()
  t.diagnostic(`${listed.trim().split('\n').length} lines, at most ${maxPackages}`)
  assert.deepEqual(findTooMany(listed), [])
  assert.equal(findTooMany(`${listed}${'/one/more\n'.repeat(maxPackages)}`).length, 1)
  assert.equal(findTooMany('').length, 1)
})

test('every package that is installed has a hash in the lock file', () => {
  assert.deepEqual(findMissingHashes(lock), [])
  const without = { ...lock, [sax]: { ...lock[sax], integrity: undefined } }
  assert.deepEqual(findMissingHashes(without), [`${sax} has no SHA-512 hash in the lock file`])
  const weak = { ...lock, [sax]: { ...lock[sax], integrity: 'sha1-abc=' } }
  assert.equal(findMissingHashes(weak).length, 1)
  // One for another system may lack it, until it is installed.
  const other = { [sax]: { optional: true, os: ['aix'] } }
  assert.equal(findMissingHashes(other, () => false).length, 0)
  assert.equal(findMissingHashes(other, () => true).length, 1)
})

test('every package has an acceptable licence, and none is deprecated', () => {
  assert.deepEqual([...findLicences(lock), ...findDeprecated(lock)], [])
  const strange = { ...lock, [sax]: { ...lock[sax], license: 'AGPL-3.0' } }
  assert.deepEqual(findLicences(strange), [`${sax} has the licence 'AGPL-3.0'`])
  const old = { ...lock, [sax]: { ...lock[sax], deprecated: 'use another' } }
  assert.deepEqual(findDeprecated(old), [`${sax} is deprecated: use another`])
})

test('an audit counts only if the registry gave a report', () => {
  const report = (vulnerabilities: object, total = 400) =>
    JSON.stringify({ vulnerabilities, metadata: { dependencies: { total } } })
  assert.deepEqual(findVulnerable(report({})), [])
  const sax = { severity: 'high', range: '<1.7.0', via: [] }
  assert.deepEqual(findVulnerable(report({ sax })), ['sax <1.7.0 has a known vulnerability: high'])
  for (const none of ['', 'no JSON', '{"error": {"code": "ENOAUDIT"}}', report({}, 0)])
    assert.throws(() => findVulnerable(none), /no report/, none)
})

test('a package without licence text or with an unknown licence is not packed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'licence-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const write = (name: string, license: string) =>
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0', license }))
  write('new-package', 'MIT')
  assert.throws(() => thirdPartyLicences([folder]), /new-package \(MIT\) has no licence text/)
  write('pgpass', 'MIT')
  assert.match(thirdPartyLicences([folder]), /Hannes Hörl[\s\S]*Permission is hereby granted/)
  writeFileSync(join(folder, 'LICENSE'), 'You may.')
  assert.throws(() => thirdPartyLicences([folder]), /remove it from mitNotices/)
  write('new-package', 'MIT')
  assert.match(thirdPartyLicences([folder]), /You may\./)
  write('new-package', 'AGPL-3.0')
  assert.throws(() => thirdPartyLicences([folder]), /not in allowedLicences/)
})

test('the bill of materials has versions, licences and hashes of the lock file', () => {
  const main = { name: 'talkshelf', version: '0.1.0', license: 'Apache-2.0' }
  const bundled = [join(root, sax), join(root, 'node_modules/@fastify/busboy')]
  const bill = billOfMaterials(main, bundled, ['sharp']) as {
    components: { name: string; purl: string; scope: string; hashes: { content: string }[] }[]
    dependencies: { dependsOn: string[] }[]
  }
  assert.deepEqual(bill, billOfMaterials(main, bundled, ['sharp']))
  const named = new Map(bill.components.map((component) => [component.name, component]))
  const { version, integrity = '' } = lock[sax] ?? {}
  assert.equal(named.get('sax')?.purl, `pkg:npm/sax@${version}`)
  assert.equal(
    named.get('sax')?.hashes[0]?.content,
    Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex'),
  )
  assert.match(named.get('@fastify/busboy')?.purl ?? '', /^pkg:npm\/%40fastify\/busboy@/)
  // Binaries of all platforms, whichever this is.
  for (const platform of ['linux-x64', 'linux-arm64', 'darwin-arm64'])
    assert.equal(named.get(`@img/sharp-${platform}`)?.scope, 'optional')
  assert.equal(bill.dependencies[0]?.dependsOn.length, bill.components.length)
  assert.throws(() => billOfMaterials(main, [join(root, 'node_modules/missing')], []), /missing/)
})
