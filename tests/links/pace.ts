import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { newPace } from '../../server/links/host-pace.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import { insertSources } from './play-through-world.ts'
import { startRemoteWorld } from './remote-world.ts'

// Several processes check the same hosts and are killed all the time: no host is asked faster than
// its pace, and all sources are checked.

const processes = 3
/** Each process is killed after so many turns of all processes. */
const turnsPerLife = 4

/** Throws if a host was asked faster than its pace. Returns what was asked. */
export async function checkPace(databaseUrl: string, sourcesOfHost: number): Promise<string> {
  const world = await startRemoteWorld()
  const running = new Set<ChildProcess>()
  let [kills, isOver] = [0, false]
  const start = () => {
    const file = join(import.meta.dirname, 'checker-process.ts')
    const child = spawn(process.execPath, [file, databaseUrl, JSON.stringify(world.address)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    running.add(child)
    child.once('exit', () => {
      running.delete(child)
      if (!isOver) start()
    })
  }
  try {
    const sources: { url: string }[] = []
    for (let number = 0; number < sourcesOfHost; number++)
      for (const kind of ['archive.org', 'file'] as const) {
        const id = `item-${number}`
        const days = [{ fromDay: 0, answer: `${kind}: ${kind === 'file' ? '404' : 'empty'}` }]
        sources.push({ url: await world.script({ kind, id }, days) })
      }
    return await withDatabase(databaseUrl, async (query) => {
      await insertSources(query, sources, Date.now())
      await query('update source set next_check = now()')
      await query('create table turn (host text, next_request bigint, number serial)')
      await query(`
        create function log_turn() returns trigger language plpgsql as $$
        begin
          insert into turn (host, next_request)
          values (new.host, (new.pace ->> 'nextRequest')::bigint);
          return null;
        end $$`)
      await query(`
        create trigger log_turn after update on link_host for each row
        when (old.pace -> 'nextRequest' is distinct from new.pace -> 'nextRequest')
        execute function log_turn()`)
      for (let count = 0; count < processes; count++) start()
      const turns = async () => {
        const [row] = await query('select count(*)::int as count from turn')
        return row?.count as unknown as number
      }
      let killedAt = 0
      await until(
        'all sources to be checked',
        async () => {
          const count = await turns()
          if (count >= killedAt + turnsPerLife) {
            killedAt = count
            const [victim] = running
            if (victim?.kill('SIGKILL')) kills++
          }
          const left = await query('select from source where last_check is null')
          return left.length === 0
        },
        { limitMs: 600_000, pauseMs: 100 },
      )
      isOver = true
      for (const child of running) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      const requests = await world.requestsFrom(0)
      const gaps = (await query(
        `select host, count(*)::int as turns,
                coalesce(min(next_request - before), 1e9)::int as gap
         from (select *, lag(next_request) over (partition by host order by number) as before
               from turn) as turn
         group by host`,
      )) as unknown as { host: string; turns: number; gap: number }[]
      assert.ok(gaps.length >= 2)
      for (const { host, turns: taken, gap } of gaps) {
        const asked = requests.filter((request) => request.host === host).length
        // A process can be killed after its turn was counted, and never asks without one.
        assert.ok(asked <= taken, `${host} was asked ${asked} times in ${taken} turns`)
        const pace = newPace(host).gapMs
        assert.ok(gap >= Math.floor(pace * 0.7), `${host}: ${gap} ms between two requests`)
      }
      assert.ok(kills > 0, 'no process was killed')
      const wrong = await query(
        `select url from source where health -> 'looks' -> -1 ->> 'verdict' <> 'gone'`,
      )
      assert.deepEqual(wrong, [])
      return `${requests.length} requests, ${kills} kills, shortest gaps ${gaps
        .map(({ host, gap }) => `${host} ${gap} ms`)
        .join(', ')}`
    })
  } finally {
    isOver = true
    for (const child of running) child.kill('SIGKILL')
    await world.close()
  }
}
