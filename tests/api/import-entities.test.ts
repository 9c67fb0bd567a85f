import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Alias, ExportedEntity } from '@talkshelf/contract'
import { restoreEntities } from '../../server/entities/entities.ts'
import { startImports } from '../support/imports-in-process.ts'
import { checkInvariants } from '../support/invariants.ts'
import { eventProfile, personProfile } from '../support/profiles.ts'
import { context } from '../support/writer.ts'

// Restores speakers, tags and categories from an export, except for what is taken.

const { pool, sql, url, make } = await startImports()

const restore = (...entities: ExportedEntity[]): Promise<number> =>
  pool.transaction((tx) => restoreEntities(tx, entities, context))

let idCount = 0
const nextId = () => 1000 * ++idCount

const alias = (name: string, shown = false): Alias => ({ name, shown })

const speaker = (name: string, more: Partial<ExportedEntity> = {}): ExportedEntity =>
  ({
    kind: 'speaker',
    id: nextId(),
    name,
    slug: name.toLowerCase().replaceAll(' ', '-'),
    revision: 0,
    aliases: [],
    old_slugs: [],
    ...more,
  }) as ExportedEntity

interface StoredEntity {
  readonly id: number
  readonly slug: string
  readonly revision: number
  readonly names: readonly string[]
  readonly slugs: readonly string[]
  readonly retired: readonly string[]
}

/** Reads the entity with this name. */
async function readEntity(
  kind: 'speaker' | 'tag' | 'category',
  name: string,
): Promise<StoredEntity> {
  const rows = await sql(
    `select entity.id::int, entity.slug, entity.revision,
            array(select name || case when shown then '' else ' (hidden)' end from entity_name
                  where kind = $1 and entity_id = entity.id order by 1) as names,
            array(select slug from entity_slug
                  where kind = $1 and entity_id = entity.id order by 1) as slugs,
            array(select slug from entity_slug
                  where kind = $1 and entity_id = entity.id and retired order by 1) as retired
     from ${kind} as entity where ${kind === 'category' ? 'title' : 'name'} = $2`,
    [kind, name],
  )
  assert.equal(rows.length, 1, `${kind} ${name}`)
  return rows[0] as unknown as StoredEntity
}

test('restores an entity of each kind with its id', async () => {
  const about = {
    description: 'About it',
    url: 'https://example.org/',
    start_date: '2026-02-01',
    end_date: '2026-02-03',
  }
  const { online: _, ...event } = eventProfile
  const more = {
    id: 500,
    revision: 4,
    aliases: [alias('Al', true), alias('Ali')],
    old_slugs: ['was'],
    retired_slugs: ['was-long-ago'],
  }
  const entities = [
    speaker('Whole', { ...more, ...personProfile }),
    speaker('Whole', { kind: 'tag', ...more }),
    speaker('Whole', {
      kind: 'category',
      ...more,
      ...about,
      ...event,
      online: false,
    } as Partial<ExportedEntity>),
    speaker('Bare'),
  ]
  assert.equal(await restore(...entities), 4)
  for (const kind of ['speaker', 'tag', 'category'] as const)
    assert.deepEqual(await readEntity(kind, 'Whole'), {
      id: 500,
      slug: 'whole',
      revision: 4,
      names: ['Al', 'Ali (hidden)', 'Whole'],
      slugs: ['was', 'was-long-ago', 'whole'],
      retired: ['was-long-ago'],
    })
  const [row] = await sql(
    `select description, url, start_date::text, end_date::text, profile
     from category where id = 500`,
  )
  assert.deepEqual(row, { ...about, profile: event })
  const changes = await sql(
    `select subject, after from change where subject_id = 500 and revision = 4 order by subject`,
  )
  const expected = { id: 500, slug: 'whole', aliases: more.aliases }
  assert.deepEqual(changes, [
    { subject: 'category', after: { ...expected, title: 'Whole', ...about, ...event } },
    { subject: 'speaker', after: { ...expected, name: 'Whole', ...personProfile } },
    { subject: 'tag', after: { ...expected, name: 'Whole' } },
  ])
  assert.deepEqual((await readEntity('speaker', 'Bare')).retired, [])
})

test('keeps an existing entity with the same name unchanged', async () => {
  await restore(speaker('Here', { aliases: [alias('Also Here')] }))
  const before = await readEntity('speaker', 'Here')
  const again = [speaker('Here', { slug: 'other' }), speaker('Also Here', { slug: 'another' })]
  assert.equal(await restore(...again), 0)
  assert.deepEqual(await readEntity('speaker', 'Here'), before)
  // An entity that is twice in the file is created once.
  assert.equal(await restore(speaker('Twice'), speaker('Twice', { slug: 'twice-more' })), 1)
  assert.equal((await readEntity('speaker', 'Twice')).slug, 'twice')
})

test('drops an alias that is taken and keeps the others', async () => {
  await restore(speaker('Known', { aliases: [alias('Known Alias')] }))
  await restore(
    speaker('First', {
      aliases: [alias('Known'), alias('Known Alias'), alias('Second'), alias('Shared')],
    }),
    speaker('Second', { aliases: [alias('Shared'), alias('Own')] }),
  )
  assert.deepEqual((await readEntity('speaker', 'First')).names, ['First', 'Shared (hidden)'])
  assert.deepEqual((await readEntity('speaker', 'Second')).names, ['Own (hidden)', 'Second'])
})

test('replaces an id that is taken and keeps the others', async () => {
  await restore(speaker('Number One', { id: 77 }))
  const others = [
    speaker('Same Number', { id: 77 }),
    speaker('Own Number', { id: 78 }),
    speaker('Twice Own Number', { id: 78 }),
  ]
  assert.equal(await restore(...others), 3)
  assert.equal((await readEntity('speaker', 'Own Number')).id, 78)
  const ids = await Promise.all(
    ['Same Number', 'Twice Own Number'].map(async (name) => (await readEntity('speaker', name)).id),
  )
  for (const id of ids) assert.ok(id > 0 && id !== 77 && id !== 78, `is ${id}`)
  // Also if it is the only entity of the file.
  await restore(speaker('Alone', { id: 77 }))
  assert.ok((await readEntity('speaker', 'Alone')).id > 0)
  // The next new speaker gets a free id.
  await make({ speakers: ['Named Next'] })
})

test('numbers a slug that is taken in the archive or in the file', async () => {
  await restore(speaker('Ann'))
  const entities = [
    speaker('Ann One', { slug: 'ann-1' }),
    speaker('Ann Two', { slug: 'ann' }),
    speaker('Ann Three', { slug: 'ann' }),
    speaker('Ann Four', { slug: 'ann-1' }),
  ]
  assert.equal(await restore(...entities), 4)
  const slugs = []
  for (const { name } of entities) slugs.push((await readEntity('speaker', name)).slug)
  assert.equal(slugs[0], 'ann-1')
  assert.equal(new Set(['ann', ...slugs]).size, 5, slugs.join())
  for (const slug of slugs) assert.match(slug, /^ann(-\d+)+$/)
})

test('drops old and retired slugs that are taken', async () => {
  await restore(speaker('Holder', { old_slugs: ['held'], retired_slugs: ['held-once'] }))
  const taken = ['held', 'held-once', 'holder']
  await restore(
    speaker('Heir', {
      old_slugs: [...taken, 'heir-old', 'heir-old'],
      retired_slugs: [...taken, 'heir-retired', 'heir-old'],
    }),
  )
  const heir = await readEntity('speaker', 'Heir')
  assert.deepEqual(heir.slugs, ['heir', 'heir-old', 'heir-retired'])
  assert.deepEqual(heir.retired, ['heir-retired'])
})

test('keeps the archive consistent after all tests', () => checkInvariants(url))
