// The files that are mutated, and the tests that run for them: the most likely to fail first,
// because the first failure ends the run of a mutant.

import { globSync } from 'node:fs'
import { resolve } from 'node:path'

export interface Group {
  readonly name: string
  readonly files: readonly string[]
  readonly tests: readonly string[]
}

const root = resolve(import.meta.dirname, '../..')
const inTests = (...names: string[]) => names.map((name) => `tests/api/${name}.test.ts`)
const inServer = (folder: string, ...names: string[]) =>
  names.map((name) => `server/${folder}/${name}.ts`)

export const groups: readonly Group[] = [
  {
    name: 'tables and triggers',
    files: globSync(['server/migrations/*.sql', 'server/*/triggers.sql'], { cwd: root })
      // The table of languages is data, and people are not part of the write path of records.
      .filter((file) => !/0004\.do\.languages|0011\.do\.people/.test(file))
      .sort(),
    tests: inTests('triggers', 'quality', 'search', 'races', 'profiles'),
  },
  {
    name: 'records',
    files: inServer('videos', 'create', 'update', 'takedown', 'revisions', 'wire'),
    tests: inTests(
      'concurrent-writes',
      'write-path',
      'write-entities',
      'edges',
      'renames',
      'races',
      'exports',
    ),
  },
  {
    name: 'statements of records',
    files: inServer('videos', 'refresh-names', 'queries'),
    tests: inTests(
      'concurrent-writes',
      'entity-names',
      'write-entities',
      'write-path',
      'races',
      'exports',
    ),
  },
  {
    name: 'records in bulk',
    files: inServer('videos', 'bulk'),
    tests: inTests(
      'entity-names',
      'write-path',
      'concurrent-writes',
      'write-entities',
      'exports',
      'imports',
    ),
  },
  {
    name: 'edits and reverts',
    files: inServer('videos', 'merge-edit', 'revert', 'event-access'),
    tests: [
      'server/videos/merge-edit.test.ts',
      'server/videos/revert.test.ts',
      ...inTests('revert', 'access', 'desk-talk'),
    ],
  },
  {
    name: 'history and preconditions',
    files: inServer('changes', 'queries', 'precondition'),
    tests: inTests(
      'concurrent-writes',
      'write-path',
      'entity-names',
      'write-entities',
      'coherence',
      'exports',
      'history',
      'preconditions',
    ),
  },
  {
    name: 'facts',
    files: inServer('facts', 'queries', 'facts'),
    tests: inTests('write-path', 'concurrent-writes', 'imports', 'exports'),
  },
  {
    name: 'renames',
    files: inServer('directory', 'queries', 'rename', 'rename-jobs'),
    tests: inTests(
      'concurrent-writes',
      'write-entities',
      'write-path',
      'entities',
      'renames',
      'collections',
    ),
  },
  {
    name: 'speakers, tags and categories',
    files: inServer('entities', 'queries', 'resolve-names', 'entity', 'name-lookup'),
    tests: inTests(
      'entity-names',
      'write-entities',
      'concurrent-writes',
      'entities',
      'renames',
      'write-path',
      'slugs',
      'privacy',
      'exports',
      'races',
    ),
  },
  {
    name: 'speakers, tags and categories of an export',
    files: inServer('entities', 'restore-entities'),
    tests: inTests(
      'import-entities',
      'archive-into-archive',
      'exports',
      'import-mutations',
      'imports',
    ),
  },
  {
    name: 'merging of imports',
    files: inServer('imports/engine', 'merge'),
    tests: [
      'server/imports/engine/merge.test.ts',
      ...inTests('imports', 'import-model', 'exports'),
    ],
  },
  {
    name: 'decisions of imports',
    files: inServer('imports/engine', 'decide', 'identity'),
    tests: inTests(
      'import-decisions',
      'imports',
      'import-model',
      'exports',
      'archive-into-archive',
      'csv',
    ),
  },
  {
    name: 'imports',
    files: inServer('imports/engine', 'apply', 'undo'),
    tests: inTests(
      'import-batches',
      'imports',
      'import-model',
      'import-failing-row',
      'exports',
      'import-command',
    ),
  },
]
