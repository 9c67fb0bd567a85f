// A database of its own for a test, cloned from the migrated template that tests/run.ts made.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

// Databases that go when the file's tests are done.
const left = new Set<string>()

export interface FreshDatabase {
  /** As the role talkshelf, which owns the database and is no superuser, as in production. */
  url: string
  name: string
  /** Ends whoever is still connected. May be called twice. */
  drop(): Promise<void>
}

/** With the test's context, it goes when the test is done; without, when the file's tests are. */
export async function freshDatabase(t?: {
  after(done: () => unknown): void
}): Promise<FreshDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`
  await clone(name)
  const url = new URL(required('TEST_DATABASE_URL'))
  url.username = 'talkshelf'
  url.pathname = `/${name}`
  const database = { url: url.href, name, drop: () => drop(name) }
  // Node runs `after` hooks first come, first served; ours came first, but whoever uses the
  // database must go before it. So this hook only joins the end of the queue.
  if (t) t.after(() => t.after(database.drop))
  else dropAtTheEnd(name)
  return database
}

async function clone(name: string): Promise<void> {
  const template = required('TEST_TEMPLATE')
  await asSuperuser(async (client) => {
    for (let attempt = 1; ; attempt++) {
      try {
        await client.query(`create database ${name} template ${template} owner talkshelf`)
        return
      } catch (error) {
        // object_in_use: somebody is connected to the template, or was a moment ago.
        if (attempt === 50 || (error as { code?: string }).code !== '55006') throw error
        await sleep(100)
      }
    }
  })
}

async function drop(name: string): Promise<void> {
  left.delete(name)
  await asSuperuser((client) => client.query(`drop database if exists ${name} with (force)`))
}

function dropAtTheEnd(name: string): void {
  // Not an `after` hook: registered inside a `before` hook, it would run as soon as that hook is
  // done, before the first test.
  if (left.size === 0) {
    process.once('beforeExit', async () => {
      for (const name of left) await drop(name)
    })
  }
  left.add(name)
}

async function asSuperuser<T>(use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: required('TEST_DATABASE_URL') })
  // Without a listener, a lost connection would end the whole process; the query under way fails by
  // itself.
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
      `${name} is not set: run the tests with npm test, or with node tests/run.ts and a part of the file's name`,
    )
  return value
}
