import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import type { Import } from '@talkshelf/contract'
import { type CommandContext, CommandError } from '../../command.ts'
import type { Config } from '../../config.ts'
import type { Origin } from '../../platform/actor.ts'
import type { Pool } from '../../platform/db/pool.ts'
import { version } from '../../version.ts'
import {
  beginImport,
  fetchFile,
  InputRefused,
  type OpenedInput,
  openInput,
  readImport,
} from '../imports.ts'
import { finishApplying, mayApply } from './apply.ts'
import { countTalks, formatNextSteps } from './format.ts'
import { formatReading, openProgressDisplay } from './progress.ts'
import { printPlan } from './show.ts'
import { canRedraw, isInteractive, listenForInterrupt, print } from './terminal.ts'

// `talkshelf import`: reads, plans, shows the plan, and applies it.

export interface ImportCommandOptions {
  readonly format?: string
  readonly category?: string
  readonly language?: string
  readonly source?: string
  readonly draft?: boolean
  readonly dryRun?: boolean
  readonly apply?: boolean
  readonly yes?: boolean
}

export async function importCommand(
  what: string,
  options: ImportCommandOptions,
  context: CommandContext,
): Promise<void> {
  // Wrong settings are told before anybody waits for a file, and a file that is not there leaves no
  // trace.
  const input = await open(what, context.config(), context.say)
  await context.withPool(async (pool) => {
    const it = await planned(pool, what, input, options, context.say)
    await printPlan(pool, it)
    if (what === '-' && it.format === 'csv' && options.source === undefined)
      context.say(
        `Its keys belong to the source '${it.source}'. For a table with other keys, give another one: --source NAME`,
      )
    await goOn(pool, it, options, context)
  })
}

async function goOn(
  pool: Pool,
  it: Import,
  options: ImportCommandOptions,
  context: CommandContext,
): Promise<void> {
  const { new: created = 0, changed = 0, conflict = 0 } = it.planned
  const wantsApply = options.apply || options.yes
  const isNothing = created + changed + conflict === 0 && it.rows === countTalks(it)
  if (isNothing && !wantsApply) await print('There is nothing to apply.')
  else if (options.dryRun || (!wantsApply && !isInteractive())) await print(formatNextSteps(it))
  else if (await mayApply(pool, it.id, { yes: options.yes === true, isAsked: !wantsApply }))
    await finishApplying(pool, it.id, context)
  else await print(formatNextSteps(it))
}

async function open(
  what: string,
  { PUBLIC_URL }: Config,
  say: (line: string) => void,
): Promise<OpenedInput> {
  if (what === '-') {
    if (process.stdin.isTTY) say('Reading what you type. Ctrl-D ends it.')
    return openInput({ stream: process.stdin, name: 'standard input' })
  }
  if (!/^https?:\/\//i.test(what)) return openInput({ path: what })
  say('Fetching it ...')
  const fetched = await fetchAll(
    what,
    `Talkshelf/${version}${PUBLIC_URL === '' ? '' : ` (+${PUBLIC_URL})`}`,
  )
  return openInput({ stream: each(fetched), name: what })
}

// All of it at once: who answers there does not wait until we have looked up each talk.
async function fetchAll(address: string, userAgent: string): Promise<Uint8Array[]> {
  try {
    const all: Uint8Array[] = []
    for await (const chunk of await fetchFile(address, userAgent)) all.push(chunk)
    return all
  } catch (error) {
    if (!(error instanceof InputRefused)) throw error
    throw new InputRefused(
      `${error.message}.\nWhat only this machine reaches, another program can fetch: curl ADDRESS | talkshelf import -`,
    )
  }
}

async function planned(
  pool: Pool,
  what: string,
  input: OpenedInput,
  options: ImportCommandOptions,
  say: (line: string) => void,
): Promise<Import> {
  const begun = performance.now()
  const progress = openProgressDisplay(process.stderr, canRedraw())
  const givenUp = new InputRefused('It was given up while it was read (Ctrl-C)')
  const told = listenForInterrupt(() => {
    progress.end()
    say('Giving it up ...')
    // Somebody who types nothing would keep us waiting.
    if (what === '-') process.stdin.destroy(givenUp)
  })
  try {
    const given = { ...options, name: what === '-' ? input.name : what, open: async () => input }
    const { id, planned } = await beginImport(pool, given, origin(), {
      progress(counts) {
        if (told.signal.aborted) throw givenUp
        progress.show(() => formatReading(counts, (performance.now() - begun) / 1000))
      },
    })
    await planned
    return await readImport(pool, id)
  } catch (error) {
    if (told.signal.aborted)
      throw new CommandError('Given up: nothing was planned or written.', told.exitCode())
    throw error
  } finally {
    progress.end()
    told.end()
  }
}

/** The operator of this machine, who has the database and so may do everything. */
function origin(): Origin {
  return {
    actor: { role: 'admin', name: userName(), token: null },
    via: 'command',
    request: randomUUID(),
  }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // In a container the user may have no name.
    return `user ${process.getuid?.() ?? ''}`.trim()
  }
}

async function* each(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}
