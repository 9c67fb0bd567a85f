import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  AtRiskReport,
  Import,
  Match,
  Person,
  SignInUrl,
  Source,
  validationErrors,
} from '@talkshelf/contract'
import Type, { type TSchema } from 'typebox'
import { findPrograms } from '../../server/platform/db/programs.ts'
import { program } from '../../server/program.ts'
import { playlistJson, scheduleJson, talks, videos } from '../support/conference.ts'
import { freshDatabase } from '../support/database.ts'
import { runCommand, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// Commands with `--json`: one document on standard output, everything else on standard error. The
// steps run in this order, in one archive.

const archive = await startArchive()
const folder = mkdtempSync(join(tmpdir(), 'talkshelf-json-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const path = (name: string) => join(folder, name)
writeFileSync(path('talks.csv'), 'key,title,event,language\n1,First talk,Example Days,en\n')
writeFileSync(
  path('bad.csv'),
  'key,title,event,language\n1,Good,Example Days,en\n2,,Example Days,en\n',
)
writeFileSync(path('schedule.json'), scheduleJson(talks))
writeFileSync(path('playlist.json'), playlistJson(videos))

await archive.make({ source_url: 'https://videos.example/1.mp4' })
await withDatabase(archive.databaseUrl, (query) => query(`update source set state = 'gone'`))

const time = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$' })
const maybe = (schema: TSchema) => Type.Union([schema, Type.Null()])
const exact = { additionalProperties: false }
const text = Type.String()
const count = Type.Integer({ minimum: 0 })
const role = Type.String({ enum: ['editor', 'admin'] })
const Token = {
  id: count,
  name: text,
  role,
  event: maybe(text),
  expires: time,
}
const manifest = {
  file: text,
  made: text,
  talkshelf: text,
  schema: count,
  postgresql: text,
  tables: Type.Record(Type.String(), Type.Object({ rows: count, sum: text })),
}

const serverMajor = await withDatabase(archive.databaseUrl, async (query) =>
  Number((await query("select current_setting('server_version_num')::integer / 10000 as v"))[0]?.v),
)
const hasPrograms = (findPrograms('pg_dump', process.env)[0]?.major ?? 0) >= serverMajor

const { url: empty } = await freshDatabase()
await withDatabase(empty, (query) => query('drop schema public cascade; create schema public'))

interface Step {
  readonly args: readonly string[]
  readonly schema: TSchema
  readonly code?: number
  readonly environment?: Record<string, string>
}

/** A step for each command, by the words before its arguments. */
const steps: Record<string, Step | readonly Step[]> = {
  migrate: {
    args: [],
    schema: Type.Object({ applied: Type.Array(text), schema: count, supported: count }, exact),
  },
  config: {
    args: [],
    schema: Type.Object({ PORT: count, SITE_NAME: text, SMTP_URL: Type.Literal('') }),
  },
  'token create': {
    args: ['--name', 'Edith', '--role', 'editor'],
    schema: Type.Object({ ...Token, token: Type.String({ pattern: '^talkshelf_' }) }, exact),
  },
  'token list': {
    args: [],
    schema: Type.Array(
      Type.Object(
        {
          ...Token,
          created: time,
          created_by: maybe(text),
          last_used: maybe(time),
          revoked: maybe(time),
        },
        exact,
      ),
      { minItems: 1 },
    ),
  },
  'person invite': {
    args: ['Ada', '--role', 'admin'],
    schema: Type.Object({ person: Person, link: SignInUrl }, exact),
  },
  'person list': { args: [], schema: Type.Array(Person, { minItems: 1, maxItems: 1 }) },
  'person link': { args: ['1'], schema: SignInUrl },
  import: [
    { args: [path('talks.csv'), '--dry-run'], schema: Import },
    { args: [path('bad.csv'), '--apply'], schema: Import, code: 4 },
  ],
  'imports list': { args: [], schema: Type.Array(Import, { minItems: 2, maxItems: 2 }) },
  'imports show': {
    args: ['1'],
    schema: Type.Object({ import: Import, talks: Type.Array(Type.Unknown(), { minItems: 1 }) }),
  },
  'imports apply': { args: ['1'], schema: Import },
  // Without --yes and a terminal, the result is printed, too: nothing was undone.
  'imports undo': [
    { args: ['1'], schema: Import, code: 3 },
    { args: ['1', '--yes'], schema: Import },
  ],
  'imports redo': { args: ['1'], schema: Import },
  'imports stop': { args: ['1'], schema: Import, code: 1 },
  match: {
    args: [path('schedule.json'), path('playlist.json'), '--dry-run'],
    schema: Type.Object({ match: Match, import: Import }, exact),
  },
  export: {
    args: ['--out', path('out.ndjson')],
    schema: Type.Object(
      { file: Type.Literal(path('out.ndjson')), format: Type.Literal('ndjson'), records: count },
      exact,
    ),
  },
  snapshot: { args: [path('snapshots')], schema: Type.Object({ file: text, videos: count }) },
  mirror: {
    args: [archive.url, path('mirror'), '--once'],
    schema: Type.Object(
      { source: text, folder: text, subjects: Type.Integer({ minimum: 1 }), seq: count },
      exact,
    ),
  },
  'links list': {
    args: [],
    schema: Type.Array(
      Type.Object({
        ...Source.properties,
        evidence: maybe(text),
        next_check: text,
        checks: Type.Array(Type.Object({ at: text, verdict: text })),
        talks: Type.Array(Type.Object({ id: count, title: text }), { minItems: 1 }),
      }),
      { minItems: 1 },
    ),
  },
  'links check': { args: ['1'], schema: Type.Array(Source, { minItems: 1 }) },
  'links report': { args: [], schema: AtRiskReport },
  'links pin': [
    { args: ['1', '--state', 'ok', '--until', '2999-12-31'], schema: Source },
    {
      args: ['videos.example', '--end'],
      schema: Type.Object({ host: Type.Literal('videos.example'), pinned: count }, exact),
    },
  ],
  doctor: {
    args: [],
    schema: Type.Array(Type.Object({ check: text, state: text, detail: text }, exact)),
  },
  backup: { args: [path('archive.dump')], schema: Type.Object(manifest) },
  restore: {
    args: [path('archive.dump')],
    schema: Type.Object(manifest),
    environment: { DATABASE_URL: empty },
  },
  // Nobody has access afterwards.
  'access restrict': {
    args: ['--all'],
    schema: Type.Object(
      {
        tokens: Type.Integer({ minimum: 1 }),
        people: Type.Integer({ minimum: 1 }),
        roles: count,
        mail_addresses: count,
        passkeys: count,
        accounts: count,
        event_editors: count,
        sessions: count,
        links: Type.Integer({ minimum: 1 }),
        speaker_links: count,
      },
      exact,
    ),
  },
}

/** Returns the names of all commands with an option. */
function commandsWith(option: string, command = program, words: string[] = []): string[] {
  const own = command.options.some(({ long }) => long === option) ? [words.join(' ')] : []
  const children = command.commands.flatMap((child) =>
    commandsWith(option, child, [...words, child.name()]),
  )
  return [...own, ...children]
}

test('every command with --json is tested', () => {
  assert.deepEqual(commandsWith('--json').sort(), Object.keys(steps).sort())
})

for (const [name, ofCommand] of Object.entries(steps))
  for (const { args, schema, code = 0, environment } of [ofCommand].flat() as Step[]) {
    const skip = ['backup', 'restore'].includes(name) && !hasPrograms && 'pg_dump is missing'
    const status = code === 0 ? '' : ` and exit status ${code}`
    test(`${name} prints one JSON document${status}`, { skip }, async () => {
      const DATABASE_URL = archive.databaseUrl
      const settings = { DATABASE_URL, ...environment }
      const printed = await runCommand([...name.split(' '), ...args, '--json'], settings)
      assert.equal(printed.code, code, printed.stderr)
      const message = `${printed.stdout}\n${printed.stderr}`
      // A command that fails before it has a result prints nothing.
      if (code === 1) return assert.equal(printed.stdout, '', message)
      assert.match(printed.stdout, /^[[{].*[\]}]\n$/s, message)
      assert.deepEqual(validationErrors(schema, JSON.parse(printed.stdout)), [], message)
    })
  }

test('errors leave standard output empty, with the same exit codes', async () => {
  const cases: [string[], number][] = [
    [['token', 'list', '--json'], 1],
    [['imports', 'show', '99', '--json'], 1],
    [['imports', 'apply', '99', '--json'], 1],
    [['import', path('missing.csv'), '--json'], 1],
    [['backup', path('archive.dump'), '--json'], 1],
    [['export', '--json'], 2],
    [['import', '--template', 'csv', '--json'], 2],
  ]
  const nowhere = 'postgres://nobody@127.0.0.1:1/nothing'
  for (const [args, expected] of cases) {
    const DATABASE_URL = args[0] === 'token' ? nowhere : archive.databaseUrl
    const { code, stdout, stderr } = await runCommand(args, { DATABASE_URL })
    assert.equal(code, expected, `${args.join(' ')}: ${stderr}`)
    assert.equal(stdout, '', args.join(' '))
    assert.notEqual(stderr, '', args.join(' '))
  }
})
