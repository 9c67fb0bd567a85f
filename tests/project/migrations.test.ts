import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseMigration, readMigrations } from '../../server/platform/db/migration-files.ts'
import { root } from '../support/harness.ts'
import { findProblems, splitStatements } from '../support/migration-rules.ts'

// Migrations run while servers answer. The rules are tested with an example of each mistake.

/** Migrations up to this one were written before the rules, and before the first release. */
const lastFreeVersion = 33

test('new migrations block neither readers nor the release before', () => {
  const problems = readMigrations(join(root, 'server'))
    .filter(({ version }) => version > lastFreeVersion)
    .flatMap((migration) =>
      findProblems(migration).map((problem) => `${migration.version} ${problem}`),
    )
  assert.deepEqual(problems, [])
})

const problemsOf = (kind: string, sql: string) =>
  findProblems(parseMigration(`0099.${kind}.example.sql`, sql))

test('every mistake is found', () => {
  const mistakes: [kind: string, sql: string, problem: RegExp][] = [
    ['do', 'alter table video alter column title type varchar(9)', /changes a type/],
    ['do', 'alter table video alter title set data type varchar(9)', /changes a type/],
    [
      'do',
      'alter table video add column length integer generated always as (length(title)) stored',
      /generated column/,
    ],
    ['do', 'alter table video add number integer generated always as identity', /identity/],
    ['do', 'alter table video add column key uuid default gen_random_uuid()', /volatile/],
    ['do', 'alter table video add column at timestamptz default clock_timestamp()', /volatile/],
    ['do', 'alter table video add column number bigserial', /serial/],
    ['do', 'alter table video add column owner integer references person', /foreign key/],
    [
      'do',
      'alter table video add constraint owned foreign key (owner) references person (id)',
      /not valid/,
    ],
    ['do', 'alter table video add constraint short check (length(title) < 9)', /not valid/],
    ['do', 'alter table video add column a integer check (a > 0)', /not valid/],
    ['do', 'alter table video add constraint one unique (title)', /under a lock/],
    ['do', 'alter table video add primary key (id)', /under a lock/],
    ['do', 'alter table video add exclude using gist (title with =)', /under a lock/],
    ['do', 'alter table video add column owner integer not null', /cannot insert/],
    ['do', 'alter table video alter column title set not null', /scans the table/],
    ['do', 'alter table video set unlogged', /rewrites/],
    ['do', 'alter table video rename column title to name', /renames/],
    ['do', 'alter table video rename to talk', /renames/],
    ['do', 'alter table video drop column title', /drops a column/],
    ['do', 'alter table video drop title', /drops a column/],
    ['do', 'drop table video', /drops what/],
    ['do', 'drop function answer()', /drops what/],
    ['do', 'lock table video', /locks a table/],
    ['do', 'truncate video', /blocks readers/],
    ['do', 'reindex table video', /rewrites/],
    ['do', 'vacuum full video', /rewrites/],
    ['do', 'refresh materialized view totals', /blocks readers/],
    ['do', 'create index on video (title)', /kind `index`/],
    ['do', 'create unique index title_key on video using btree (title)', /kind `index`/],
    ['do', "update video set title = 'a; b'", /kind `fill`/],
    ['do', 'with old as (select 1) delete from video', /kind `fill`/],
    [
      'do',
      'alter table video add column a integer; alter table tag add column a integer',
      /several tables/,
    ],
    ['index', 'create index title_index on video (title)', /must be one/],
    ['index', 'create index concurrently title_index on video (title)', /must be one/],
    ['index', 'create index concurrently if not exists a on b (c); select 1', /must be one/],
    ['fill', 'update video set title = title', /no limit/],
    [
      'fill',
      `update video set a = 1 where id in (
         select id from video where a is null limit 1000 for update skip locked
       )`,
      /leaves rows out/,
    ],
    ['fill', 'select 1; select 2', /one statement/],
    [
      'contract',
      '-- needs: 0.2.0\nalter table video alter title type varchar(9)',
      /changes a type/,
    ],
    ['contract', '-- needs: 0.2.0\nlock table video', /locks a table/],
  ]
  for (const [kind, sql, problem] of mistakes)
    assert.match(problemsOf(kind, sql).join('\n'), problem, `${kind}: ${sql}`)
})

test('the ways around the mistakes are allowed', () => {
  const examples: [kind: string, sql: string][] = [
    ['do', 'alter table video add column owner integer'],
    ['do', 'alter table video add column hits integer not null default 0, add column b text'],
    ['do', "alter table video add column at timestamptz default '2026-01-01'"],
    ['do', 'alter table video add constraint short check (length(title) < 9) not valid'],
    [
      'do',
      'alter table video add constraint owned foreign key (owner) references person not valid',
    ],
    ['do', 'alter table video validate constraint short'],
    ['do', 'alter table video add constraint one unique using index title_key'],
    ['do', 'alter table video drop constraint short'],
    ['do', 'alter table video alter column title drop not null'],
    [
      'do',
      `create table play (
         id bigint generated always as identity primary key,
         video bigint not null references video,
         at timestamptz not null default clock_timestamp()
       );
       create index play_video on play (video);
       alter table play add constraint positive check (id > 0)`,
    ],
    [
      'do',
      `create function fill() returns void language plpgsql as $$
         begin update video set title = title; lock table video; end
       $$`,
    ],
    ['index', 'create index concurrently if not exists title_index on video (title);'],
    ['index', '-- Not needed any more.\ndrop index concurrently if exists title_index'],
    [
      'fill',
      `update video set hits = 0 where id in (
         select id from video where hits is null limit 1000 for update
       )`,
    ],
    ['contract', '-- needs: 0.2.0\nalter table video drop column title'],
    ['contract', '-- needs: 0.2.0\nalter table video alter column owner set not null'],
    ['contract', '-- needs: 0.2.0\ndrop table play'],
  ]
  for (const [kind, sql] of examples) assert.deepEqual(problemsOf(kind, sql), [], `${kind}: ${sql}`)
})

test('a contract migration names the oldest release that it works with', () => {
  assert.throws(() => parseMigration('0099.contract.gone.sql', 'drop table play'), /-- needs/)
})

test('a script is split at its semicolons', () => {
  assert.deepEqual(
    splitStatements(`-- comment; with a semicolon
      select ';' ; select "a;b" -- and; more
      ; create function f() returns void language sql as $body$ select 1; $body$;
      /* ; */ select 2`),
    [
      "select ';'",
      'select "a;b"',
      'create function f() returns void language sql as $body$ select 1; $body$',
      'select 2',
    ],
  )
})
