// A database for each test, cloned from the migrated template that tests/run.ts created.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { until } from './until.ts'

// Databases to drop when the tests of the file are done.
const remaining = new Set<string>()

export interface FreshDatabase {
  /** With the role talkshelf, which owns the database and is not a superuser, as in production. */
  url: string
  name: string
  /** Drops the database and ends its connections. May be called twice. */
  drop(): Promise<void>
}

/**
 * Creates a database. It is dropped after the test if its context is given, otherwise after all
 * tests of the file.
 */
export async function freshDatabase(t?: {
  after(done: () => unknown): void
}): Promise<FreshDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`
  await clone(name)
  const database = { url: urlOf(name), name, drop: () => drop(name) }
  // Node runs `after` hooks in the order of registration. This one is the first, but must run after
  // those of the users of the database, so it only registers another one at the end.
  if (t) t.after(() => t.after(database.drop))
  else dropAtTheEnd(name)
  return database
}

/**
 * Creates a database without tables that belongs to the superuser, with these options of CREATE
 * DATABASE. Returns its URL for the role talkshelf. It is dropped after the test.
 */
export async function emptyDatabase(
  t: { after(done: () => unknown): void },
  options = '',
): Promise<FreshDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`
  await asSuperuser((client) =>
    client.query(`create database ${name} template template0 ${options}`),
  )
  t.after(() => t.after(() => drop(name)))
  return { url: urlOf(name), name, drop: () => drop(name) }
}

function urlOf(name: string): string {
  const url = new URL(required('TEST_DATABASE_URL'))
  url.username = 'talkshelf'
  url.pathname = `/${name}`
  return url.href
}

async function clone(name: string): Promise<void> {
  const template = required('TEST_TEMPLATE')
  await asSuperuser(async (client) => {
    const isInUse = (error: unknown) => (error as { code?: string }).code === '55006'
    const error = await until('the template to have no connections', () =>
      client.query(`create database ${name} template ${template} owner talkshelf`).then(
        () => 'none' as const,
        (error: unknown) => !isInUse(error) && error,
      ),
    )
    if (error !== 'none') throw error
  })
}

async function drop(name: string): Promise<void> {
  remaining.delete(name)
  await asSuperuser((client) => client.query(`drop database if exists ${name} with (force)`))
}

function dropAtTheEnd(name: string): void {
  // Not an `after` hook: registered in a `before` hook, it would run as soon as that hook is done,
  // before the first test.
  if (remaining.size === 0) {
    process.once('beforeExit', async () => {
      for (const name of remaining) await drop(name)
    })
  }
  remaining.add(name)
}

/** Runs queries as the superuser, in the database `postgres`. */
export async function asSuperuser<T>(use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: required('TEST_DATABASE_URL') })
  // Without a listener, a lost connection would end the process; the query fails anyway.
  client.on('error', () => {})
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

function required(name: string): string {
  const value = process.env[name]
  if (!value)
    throw new Error(
      `${name} is not set: run the tests with npm test, or with node tests/run.ts NAME`,
    )
  return value
}
