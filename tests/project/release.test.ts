import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findContradictions, prepareRelease, releaseNotes } from '../../scripts/release.ts'
import { root } from '../support/harness.ts'

/** Copies what the release script reads. */
function copyRepository(): string {
  const folder = mkdtempSync(join(tmpdir(), 'release-'))
  for (const file of [
    'CHANGELOG.md',
    'Dockerfile',
    'package-lock.json',
    ...['contract', 'client', 'server', 'web'].map((it) => `${it}/package.json`),
  ])
    cpSync(join(root, file), join(folder, file))
  return folder
}

const changelog = '# Changelog\n\n## 0.2.0\n\n- New\n\n## 0.1.0 (2026-12-01)\n\n- First\n'

test('all manifests, the lock file and the changelog agree about the version', () => {
  assert.deepEqual(findContradictions(root), [])
})

test('a contradiction prevents a release', (t) => {
  const folder = copyRepository()
  t.after(() => rmSync(folder, { recursive: true }))
  const edit = (file: string, from: string | RegExp, to: string) => {
    const text = readFileSync(join(folder, file), 'utf8')
    writeFileSync(join(folder, file), text.replace(from, to))
    assert.notEqual(readFileSync(join(folder, file), 'utf8'), text, `${file} is unchanged`)
  }
  writeFileSync(join(folder, 'CHANGELOG.md'), '# Changelog\n\n## Unreleased\n\n- New\n')
  prepareRelease(folder, '9.8.7', () => undefined)
  assert.match(readFileSync(join(folder, 'Dockerfile'), 'utf8'), /image\.version="9\.8\.7"/)
  assert.deepEqual(findContradictions(folder, 'v9.8.7'), [])
  assert.match(findContradictions(folder, 'v9.8.8').join(), /the tag is v9\.8\.8/)
  edit('client/package.json', '"@talkshelf/contract": "9.8.7"', '"@talkshelf/contract": "9.8.6"')
  assert.match(findContradictions(folder).join(), /client\/package\.json needs .*9\.8\.6/)
  edit('client/package.json', '9.8.6', '9.8.7')
  edit('package-lock.json', /("client": \{[^}]*"version": )"9\.8\.7"/, '$1"9.8.5"')
  assert.match(
    findContradictions(folder).join(),
    /package-lock\.json \(client\) has version 9\.8\.5/,
  )
  edit('package-lock.json', '9.8.5', '9.8.7')
  edit('CHANGELOG.md', '- New\n', '')
  assert.match(findContradictions(folder, 'v9.8.7').join(), /says nothing about 9\.8\.7/)
  edit('CHANGELOG.md', '## 9.8.7', '## Unreleased')
  assert.match(findContradictions(folder, 'v9.8.7').join(), /begins with 'Unreleased'/)
  assert.deepEqual(findContradictions(folder), [])
  edit('CHANGELOG.md', '## Unreleased', '## 1.0')
  assert.match(findContradictions(folder).join(), /begins with neither/)
})

test('the next release gives the last one its date', (t) => {
  const folder = copyRepository()
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'CHANGELOG.md')
  writeFileSync(file, changelog.replace('## 0.2.0', '## Unreleased\n\n- Newer\n\n## 0.2.0'))
  prepareRelease(folder, '0.3.0', (tag) => (tag === 'v0.2.0' ? '2027-01-31' : undefined))
  const headings = readFileSync(file, 'utf8').match(/^## .*$/gm)
  assert.deepEqual(headings, ['## 0.3.0', '## 0.2.0 (2027-01-31)', '## 0.1.0 (2026-12-01)'])
  assert.throws(() => prepareRelease(folder, '0.4.0', () => undefined), /Unreleased/)
})

test('the notes of a release are its section', () => {
  const notes = releaseNotes(changelog, 'v0.2.0', '2027-01-31')
  assert.equal(notes, 'Released on 2027-01-31.\n\n- New\n')
  assert.throws(() => releaseNotes(changelog, 'v0.3.0', '2027-01-31'), /no section/)
})
