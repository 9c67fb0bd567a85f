// Which files are mutated, and which tests are run for them: the likeliest to notice first, because
// the first that fails ends it.

export interface Group {
  readonly name: string
  readonly files: readonly string[]
  readonly tests: readonly string[]
}

const inTests = (...names: string[]) => names.map((name) => `tests/api/${name}.test.ts`)
const inServer = (folder: string, ...names: string[]) =>
  names.map((name) => `server/${folder}/${name}.ts`)

export const groups: readonly Group[] = [
  {
    name: 'tables and triggers',
    files: [
      'server/migrations/0001.do.vocabulary.sql',
      'server/migrations/0002.do.changes.sql',
      'server/migrations/0003.do.videos.sql',
      'server/migrations/0005.do.collections.sql',
      'server/migrations/0006.do.talk-counts.sql',
      'server/migrations/0007.do.search.sql',
      'server/migrations/0008.do.names.sql',
      'server/migrations/0009.do.quality.sql',
      'server/migrations/0010.do.imports.sql',
    ],
    tests: inTests('triggers', 'quality', 'search', 'races'),
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
    name: 'history and preconditions',
    files: inServer('changes', 'queries', 'precondition'),
    tests: inTests(
      'concurrent-writes',
      'write-path',
      'entity-names',
      'write-entities',
      'coherence',
      'exports',
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
    tests: inTests('concurrent-writes', 'write-entities', 'write-path', 'renames'),
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
