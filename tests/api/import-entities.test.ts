import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Alias, ExportedEntity } from '@talkshelf/contract'
import { restoreEntities } from '../../server/entities/entities.ts'
import { startImports } from '../support/imports-in-process.ts'
import { checkInvariants } from '../support/invariants.ts'
import { context } from '../support/writer.ts'

// Speakers, tags and categories out of an export: as they were, but for what is taken.

const { pool, sql, url, make } = await startImports()

const keep = (...entities: ExportedEntity[]): Promise<number> =>
  pool.transaction((tx) => restoreEntities(tx, entities, context))

let numbers = 0
const nextNumber = () => 1000 * ++numbers

const alias = (name: string, shown = false): Alias => ({ name, shown })

const speaker = (name: string, more: Partial<ExportedEntity> = {}): ExportedEntity =>
  ({
    kind: 'speaker',
    id: nextNumber(),
    name,
    slug: name.toLowerCase().replaceAll(' ', '-'),
    revision: 0,
    aliases: [],
    old_slugs: [],
    ...more,
  }) as ExportedEntity

interface Kept {
  readonly id: number
  readonly slug: string
  readonly revision: number
  readonly names: readonly string[]
  readonly slugs: readonly string[]
  readonly retired: readonly string[]
}

/** What the archive has of this name. */
async function found(kind: 'speaker' | 'tag' | 'category', name: string): Promise<Kept> {
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
  return rows[0] as unknown as Kept
}

test('an entity comes back as it was, under the same number, of each kind', async () => {
  const about = {
    description: 'About it',
    url: 'https://example.org/',
    start_date: '2026-02-01',
    end_date: '2026-02-03',
  }
  const more = {
    id: 500,
    revision: 4,
    aliases: [alias('Al', true), alias('Ali')],
    old_slugs: ['was'],
    retired_slugs: ['was-long-ago'],
  }
  const entities = [
    speaker('Whole', more),
    speaker('Whole', { kind: 'tag', ...more }),
    speaker('Whole', { kind: 'category', ...more, ...about } as Partial<ExportedEntity>),
    speaker('Bare'),
  ]
  assert.equal(await keep(...entities), 4)
  for (const kind of ['speaker', 'tag', 'category'] as const)
    assert.deepEqual(await found(kind, 'Whole'), {
      id: 500,
      slug: 'whole',
      revision: 4,
      names: ['Al', 'Ali (hidden)', 'Whole'],
      slugs: ['was', 'was-long-ago', 'whole'],
      retired: ['was-long-ago'],
    })
  const [row] = await sql(
    `select description, url, start_date::text, end_date::text from category where id = 500`,
  )
  assert.deepEqual(row, about)
  const changes = await sql(
    `select subject, after from change where subject_id = 500 and revision = 4 order by subject`,
  )
  const told = { id: 500, slug: 'whole', aliases: more.aliases }
  assert.deepEqual(changes, [
    { subject: 'category', after: { ...told, title: 'Whole', ...about } },
    { subject: 'speaker', after: { ...told, name: 'Whole' } },
    { subject: 'tag', after: { ...told, name: 'Whole' } },
  ])
  assert.deepEqual((await found('speaker', 'Bare')).retired, [])
})

test('whoever has a name already is that one, and stays as it is', async () => {
  await keep(speaker('Here', { aliases: [alias('Also Here')] }))
  const before = await found('speaker', 'Here')
  const again = [speaker('Here', { slug: 'other' }), speaker('Also Here', { slug: 'another' })]
  assert.equal(await keep(...again), 0)
  assert.deepEqual(await found('speaker', 'Here'), before)
  // A file that has one twice means one.
  assert.equal(await keep(speaker('Twice'), speaker('Twice', { slug: 'twice-more' })), 1)
  assert.equal((await found('speaker', 'Twice')).slug, 'twice')
})

test('an alias that leads somewhere already is left out, and the others are kept', async () => {
  await keep(speaker('Known', { aliases: [alias('Known Alias')] }))
  await keep(
    speaker('First', {
      aliases: [alias('Known'), alias('Known Alias'), alias('Second'), alias('Shared')],
    }),
    speaker('Second', { aliases: [alias('Shared'), alias('Own')] }),
  )
  assert.deepEqual((await found('speaker', 'First')).names, ['First', 'Shared (hidden)'])
  assert.deepEqual((await found('speaker', 'Second')).names, ['Own (hidden)', 'Second'])
})

test('a number that is taken is replaced by a new one, and the others are kept', async () => {
  await keep(speaker('Number One', { id: 77 }))
  const others = [
    speaker('Same Number', { id: 77 }),
    speaker('Own Number', { id: 78 }),
    speaker('Twice Own Number', { id: 78 }),
  ]
  assert.equal(await keep(...others), 3)
  assert.equal((await found('speaker', 'Own Number')).id, 78)
  const ids = await Promise.all(
    ['Same Number', 'Twice Own Number'].map(async (name) => (await found('speaker', name)).id),
  )
  for (const id of ids) assert.ok(id > 0 && id !== 77 && id !== 78, `is ${id}`)
  // Alone as well.
  await keep(speaker('Alone', { id: 77 }))
  assert.ok((await found('speaker', 'Alone')).id > 0)
  // Whoever is named next has yet another number.
  await make({ speakers: ['Named Next'] })
})

test('a slug that is taken gets a number that nothing else has, here or in the file', async () => {
  await keep(speaker('Ann'))
  const entities = [
    speaker('Ann One', { slug: 'ann-1' }),
    speaker('Ann Two', { slug: 'ann' }),
    speaker('Ann Three', { slug: 'ann' }),
    speaker('Ann Four', { slug: 'ann-1' }),
  ]
  assert.equal(await keep(...entities), 4)
  const slugs = []
  for (const { name } of entities) slugs.push((await found('speaker', name)).slug)
  assert.equal(slugs[0], 'ann-1')
  assert.equal(new Set(['ann', ...slugs]).size, 5, slugs.join())
  for (const slug of slugs) assert.match(slug, /^ann(-\d+)+$/)
})

test('old slugs and retired slugs that are taken are left out', async () => {
  await keep(speaker('Holder', { old_slugs: ['held'], retired_slugs: ['held-once'] }))
  const taken = ['held', 'held-once', 'holder']
  await keep(
    speaker('Heir', {
      old_slugs: [...taken, 'heir-old', 'heir-old'],
      retired_slugs: [...taken, 'heir-retired', 'heir-old'],
    }),
  )
  const heir = await found('speaker', 'Heir')
  assert.deepEqual(heir.slugs, ['heir', 'heir-old', 'heir-retired'])
  assert.deepEqual(heir.retired, ['heir-retired'])
})

test('after all of it the archive is sound', () => checkInvariants(url))
