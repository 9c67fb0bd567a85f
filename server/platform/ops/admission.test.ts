import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AdmissionOptions, NotAdmitted, openAdmission, withClient } from './admission.ts'

/** Starts calls that end on command, and records the order in which they are admitted. */
function openCalls(options: AdmissionOptions) {
  const admission = openAdmission(options)
  const admitted: string[] = []
  const ends = new Map<string, () => void>()
  const calls = new Map<string, Promise<void>>()
  const start = (client: string, name: string) => {
    withClient(client, () => {
      const result = admission.run(() => {
        admitted.push(name)
        return new Promise<void>((resolve) => ends.set(name, resolve))
      })
      result.catch(() => {})
      calls.set(name, result)
    })
    return calls.get(name) as Promise<void>
  }
  const end = async (name: string) => {
    ends.get(name)?.()
    await calls.get(name)
  }
  return { admission, admitted, start, end }
}

const patient = { maxRunning: 2, maxRunningPerClient: 2, maxWaiting: 100, maxWaitMs: 60_000 }

test('runs as many calls at once as are allowed', async () => {
  const { admission, admitted, start, end } = openCalls(patient)
  for (const name of ['a', 'b', 'c']) start('client', name)
  assert.deepEqual(admitted, ['a', 'b'])
  assert.deepEqual(admission.figures(), { running: 2, waiting: 1, refused: 0 })
  await end('b')
  assert.deepEqual(admitted, ['a', 'b', 'c'])
  await end('a')
  await end('c')
  start('client', 'd')
  assert.equal(admitted.at(-1), 'd')
  await end('d')
  assert.deepEqual(admission.figures(), { running: 0, waiting: 0, refused: 0 })
})

test('lets the clients that wait take turns', async () => {
  const { admitted, start, end } = openCalls({ ...patient, maxRunning: 1 })
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) start(name.charAt(0), name)
  for (let index = 0; index < 7; index++) await end(admitted[index] as string)
  assert.deepEqual(admitted, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
})

test('keeps room for other clients', async () => {
  const { admitted, start, end } = openCalls({ ...patient, maxRunningPerClient: 1 })
  for (const name of ['a1', 'a2', 'b1', 'c1']) start(name.charAt(0), name)
  assert.deepEqual(admitted, ['a1', 'b1'])
  await end('a1')
  assert.deepEqual(admitted, ['a1', 'b1', 'a2'])
  await end('a2')
  assert.deepEqual(admitted, ['a1', 'b1', 'a2', 'c1'])
  await end('c1')
  start('b', 'b2')
  start('a', 'a3')
  assert.equal(admitted.at(-1), 'a3', 'b has a running call')
  await end('b1')
  for (const name of ['a3', 'b2']) await end(name)
})

test('refuses in a full queue the calls of the client with the most', async () => {
  const { admission, start, end } = openCalls({ ...patient, maxRunning: 1, maxWaiting: 3 })
  start('a', 'running')
  start('a', 'a1')
  const [second, third] = [start('a', 'a2'), start('a', 'a3')]
  await assert.rejects(start('a', 'a4'), NotAdmitted)
  start('b', 'b1')
  await assert.rejects(third, NotAdmitted)
  await assert.rejects(start('b', 'b2'), NotAdmitted, 'a does not have more')
  start('c', 'c1')
  await assert.rejects(second, NotAdmitted)
  assert.deepEqual(admission.figures(), { running: 1, waiting: 3, refused: 4 })
  for (const name of ['running', 'a1', 'b1', 'c1']) await end(name)
  assert.deepEqual(admission.figures(), { running: 0, waiting: 0, refused: 4 })
})

test('refuses calls that wait too long, and admits later ones', async () => {
  const { admitted, start, end } = openCalls({ ...patient, maxRunning: 1, maxWaitMs: 1 })
  start('client', 'first')
  for (const call of [start('client', 'second'), start('other', 'third')])
    await assert.rejects(call, NotAdmitted)
  await end('first')
  start('client', 'last')
  assert.deepEqual(admitted, ['first', 'last'])
  await end('last')
})

test('admits the next call after one that failed', async () => {
  const admission = openAdmission({ ...patient, maxRunning: 1 })
  const failed = admission.run(() => Promise.reject(new Error('failed')))
  const next = admission.run(async () => 'admitted')
  await assert.rejects(failed, /failed/)
  assert.equal(await next, 'admitted')
})
