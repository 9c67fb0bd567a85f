import type { Db } from '../platform/db/db.ts'
import { findLanguages, holdThings, thingsNamed } from './queries.ts'
import { createMissing, languageCode, type Named } from './resolve.ts'

// The names of many records at once, for whoever reads or writes hundreds of them.

/** Names to look up, each once. */
export interface Wanted {
  readonly category: readonly string[]
  readonly language: readonly string[]
  readonly speaker: readonly string[]
  readonly tag: readonly string[]
}

/** What each name leads to; nothing where there is no such thing yet. */
export type Book = Readonly<Record<keyof Wanted, ReadonlyMap<string, Named>>>

export async function lookUp(db: Db, wanted: Wanted): Promise<Book> {
  return {
    category: await thingsNamed(db, 'category', wanted.category),
    language: await languagesNamed(db, wanted.language),
    speaker: await thingsNamed(db, 'speaker', wanted.speaker),
    tag: await thingsNamed(db, 'tag', wanted.tag),
  }
}

/** Makes the speakers and tags that are not there yet, and holds everything: until the end of the transaction all of it is called so. */
export async function lookUpAndHold(tx: Db, wanted: Wanted): Promise<Book> {
  for (;;) {
    const found = await lookUp(tx, wanted)
    const book = { ...found, speaker: await complete(tx, 'speaker', wanted, found), tag: await complete(tx, 'tag', wanted, found) }
    // Whoever renames or merges something holds it first, and claims its names before: after this nobody can.
    let isHeld = true
    for (const kind of ['category', 'speaker', 'tag'] as const) {
      const things = new Map([...book[kind].values()].map(({ id, name }) => [id, name]))
      const held = await holdThings(tx, kind, [...things.keys()])
      isHeld &&= held.length === things.size && held.every(({ id, name }) => things.get(id) === name)
    }
    if (isHeld) return book
  }
}

async function complete(tx: Db, kind: 'speaker' | 'tag', wanted: Wanted, found: Book): Promise<Map<string, Named>> {
  const names = wanted[kind]
  const things = await createMissing(
    tx,
    kind,
    names,
    names.map((name) => found[kind].get(name) ?? null),
  )
  return new Map(names.map((name, place) => [name, things[place] as Named]))
}

async function languagesNamed(db: Db, names: readonly string[]): Promise<Map<string, Named>> {
  const found = new Map<string, Named>()
  // British English is English to whoever looks for a talk, unless it is a language of its own here.
  for (const codeOf of [(name: string) => languageCode(name).split('-')[0] ?? '', languageCode])
    for (const { given, id, name } of await findLanguages(db, names, names.map(codeOf))) found.set(given, { id, name })
  return found
}
