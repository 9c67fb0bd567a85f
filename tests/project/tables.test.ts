import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { root } from '../support/harness.ts'

// Read from the SQL itself: which feature writes which table.

const writes = /\b(?:insert into|update|delete from|truncate)\s+(\$\{[^}]+\}|[a-z_]+)(?=[\s(])/g

function tablesWritten(sql: string): string[] {
  // "do update set" of an upsert and "for update" of a lock name no table.
  const bare = sql
    .replaceAll(/\/\/.*|--.*|\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\bafter (insert or )?update( of \w+)?( or delete)? on\b/g, '')
    .replaceAll(/\bfor (no key )?update\b( of \w+)?( skip locked)?/g, '')
    .replaceAll(/\bdo update\s+set\b/g, '')
  return [...bare.matchAll(writes)].map(([, table = '']) => table)
}

/** Tables that no feature writes: a migration fills them, or migrate.ts records its work there. */
const unowned = ['language', 'schema_version', 'trigger_file']

/**
 * Returns the tables that a statement writes. A name change replaces a name in all tables, whichever
 * feature owns them: docs/decisions/0049-speakers.md.
 */
function namedTables(feature: string, table: string): string[] {
  if (!table.startsWith('$')) return [table]
  return feature === 'name-changes' ? [] : ['category', 'speaker', 'tag']
}

/** Finds the features that write each table, by code or by trigger. */
function tableOwners(): Map<string, Set<string>> {
  const writers = new Map<string, Set<string>>()
  for (const file of globSync('server/**/{queries.ts,triggers.sql}', { cwd: root })) {
    const feature = file.split('/')[1] as string
    // A name that is filled in comes from a table of names in the same file, and is looked at
    // there.
    for (const table of tablesWritten(readFileSync(`${root}/${file}`, 'utf8')))
      for (const name of namedTables(feature, table))
        writers.set(name, (writers.get(name) ?? new Set()).add(feature))
  }
  return writers
}

test('each table is written by one feature only', () => {
  assert.deepEqual(
    Object.fromEntries(
      [...tableOwners()].sort().map(([table, features]) => [table, [...features]]),
    ),
    {
      audit_event: ['auth'],
      event_editor: ['auth'],
      category: ['entities'],
      edge_purge: ['edge'],
      change: ['changes'],
      feed_entry: ['change-feed'],
      feed_head: ['change-feed'],
      idempotency_key: ['videos'],
      link_host: ['links'],
      replacement: ['links'],
      source: ['links'],
      video_source: ['links'],
      followed_source: ['followed-sources'],
      import: ['imports'],
      import_row: ['imports'],
      import_entity: ['imports'],
      match: ['matches'],
      match_pattern: ['matches'],
      match_item: ['matches'],
      match_decision: ['matches'],
      source_record: ['imports'],
      entity_name: ['entities'],
      entity_slug: ['entities'],
      maintenance: ['maintenance'],
      mirror: ['mirror'],
      mirrored: ['mirror'],
      one_time_token: ['auth'],
      openid_identity: ['auth'],
      passkey: ['auth'],
      person: ['auth'],
      ids_before_merge: ['videos'],
      rename_job: ['directory'],
      scheduled_publication: ['publication'],
      search_lexeme: ['search'],
      search_word: ['search'],
      session: ['auth'],
      similar_talk: ['search'],
      fingerprint: ['quality'],
      speaker: ['entities'],
      duplicate_candidate: ['quality'],
      suggestion: ['suggestions'],
      suggestion_key: ['suggestions'],
      suggestion_sender: ['suggestions'],
      former_name: ['entities'],
      name_change: ['name-changes'],
      name_change_place: ['name-changes'],
      speaker_confirmation: ['speaker-links'],
      speaker_link: ['speaker-links'],
      speaker_request: ['speaker-links'],
      speaker_suggestion: ['speaker-links'],
      synonym: ['search'],
      tag: ['entities'],
      talk_count: ['catalogue'],
      talk_cube: ['catalogue'],
      token: ['auth'],
      uploaded_picture: ['pictures'],
      video: ['videos'],
      video_body: ['videos'],
      video_facts: ['facts'],
      video_search: ['search'],
      webhook: ['webhooks'],
      webhook_delivery: ['webhooks'],
      working_copy: ['desk'],
    },
  )
})

test('each table has an owner', () => {
  const schema = readFileSync(`${root}/docs/schema.sql`, 'utf8')
  const tables = [...schema.matchAll(/^CREATE TABLE public[.](\w+)/gm)]
    .map(([, table = '']) => table)
    .filter((table) => !/^video_search_/.test(table))
  assert.deepEqual(tables.sort(), [...tableOwners().keys(), ...unowned].sort())
})

test('SQL that writes is in queries.ts only', () => {
  for (const file of globSync('{server,contract,client}/**/*.ts', {
    cwd: root,
    // migrate.ts writes `trigger_file`, the table that records what it applied.
    exclude: ['**/node_modules/**', '**/queries.ts', '**/migrate.ts', '**/*.test.ts'],
  })) {
    const code = readFileSync(`${root}/${file}`, 'utf8').replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')
    assert.doesNotMatch(code, /\b(insert into|delete from|update \w+ set)\b/i, file)
  }
})

/** The text of each call of these functions, up to the parenthesis that closes it. */
function callsOf(code: string, names: string): string[] {
  return [...code.matchAll(new RegExp(`\\b(?:${names})\\(`, 'g'))].map(({ index }) => {
    let depth = 0
    for (let at = code.indexOf('(', index); at < code.length; at++) {
      if (code[at] === '(') depth++
      if (code[at] === ')' && --depth === 0) return code.slice(index, at + 1)
    }
    return code.slice(index)
  })
}

// If the connection is lost, the outcome of a write is unknown, and that of a read is not.
test('a statement that writes is never run as one that only reads', () => {
  for (const file of globSync('server/**/queries.ts', { cwd: root }))
    for (const call of callsOf(readFileSync(`${root}/${file}`, 'utf8'), 'one|maybe|many'))
      assert.deepEqual(
        [tablesWritten(call), /insertChange/.test(call)],
        [[], false],
        `${file}: ${call.slice(0, 200)}`,
      )
  assert.equal(
    callsOf('const a = one(db, Row, sql`insert into tag (a) values (b)`) + many(x)', 'one|many')
      .length,
    2,
  )
})
