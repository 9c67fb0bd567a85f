import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { root } from './harness.ts'

// Read from the SQL itself: which feature writes which table.

const writes = /\b(?:insert into|update|delete from|truncate)\s+(\$\{[^}]+\}|[a-z_]+)(?=[\s(])/g

function tablesWritten(sql: string): string[] {
  // "do update set" of an upsert and "for update" of a lock name no table.
  const bare = sql
    .replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\bfor (no key )?update\b( of \w+)?( skip locked)?/g, '')
    .replaceAll(/\bdo update set\b/g, '')
  return [...bare.matchAll(writes)].map(([, table = '']) => table)
}

test('each table is written by one feature only', () => {
  const writers = new Map<string, Set<string>>()
  for (const file of globSync('server/**/queries.ts', { cwd: root })) {
    const feature = file.split('/')[1] as string
    // A name that is filled in comes from a table of names in the same file, and is looked at there.
    for (const table of tablesWritten(readFileSync(`${root}/${file}`, 'utf8')))
      for (const name of table.startsWith('$') ? ['category', 'speaker', 'tag'] : [table])
        writers.set(name, (writers.get(name) ?? new Set()).add(feature))
  }
  assert.deepEqual(Object.fromEntries([...writers].sort().map(([table, features]) => [table, [...features]])), {
    category: ['vocabulary'],
    change: ['changes'],
    idempotency_key: ['videos'],
    import: ['imports'],
    import_row: ['imports'],
    import_thing: ['imports'],
    imported: ['imports'],
    known_as: ['vocabulary'],
    known_slug: ['vocabulary'],
    renaming: ['names'],
    speaker: ['vocabulary'],
    tag: ['vocabulary'],
    token: ['auth'],
    video: ['videos'],
    video_body: ['videos'],
    video_facts: ['facts'],
  })
})

test('SQL that writes is in queries.ts only', () => {
  for (const file of globSync('{server,contract,client}/**/*.ts', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/queries.ts', '**/*.test.ts'],
  })) {
    const code = readFileSync(`${root}/${file}`, 'utf8').replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')
    assert.doesNotMatch(code, /\b(insert into|delete from|update \w+ set)\b/i, file)
  }
})
