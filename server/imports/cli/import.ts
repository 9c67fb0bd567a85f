import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import type { Import } from '@talkshelf/contract'
import {
  type CommandContext,
  CommandError,
  invalidArguments,
  type JsonOption,
  withResult,
} from '../../command.ts'
import type { Origin } from '../../platform/actor.ts'
import type { Pool } from '../../platform/db/pool.ts'
import { canRedraw, isInteractive, listenForInterrupt, print } from '../../platform/terminal.ts'
import { escapeLine } from '../../platform/terminal-escape.ts'
import { version } from '../../version.ts'
import {
  beginImport,
  fetchFile,
  findLanguageError,
  InputRefused,
  type OpenedInput,
  openInput,
  readImport,
} from '../imports.ts'
import { quote } from '../quote.ts'
import { confirmApply, finishApplying } from './apply.ts'
import { countTalks, formatNextSteps, isAllRefused } from './format.ts'
import { formatReading, openProgressDisplay } from './progress.ts'
import { printPlan } from './show.ts'

// `talkshelf import`: reads a file, shows the plan, and applies it.

export interface ImportCommandOptions extends JsonOption {
  readonly format?: string
  readonly category?: string
  readonly language?: string
  readonly source?: string
  readonly recorded?: string
  readonly keepTitles?: boolean
  readonly draft?: boolean
  readonly dryRun?: boolean
  readonly apply?: boolean
  readonly yes?: boolean
}

/** Plans the import of a file, folder, URL or standard input (-), prints it and may apply it. */
export async function importCommand(
  path: string,
  options: ImportCommandOptions,
  context: CommandContext,
): Promise<void> {
  // Opened before the import is created, so that a missing file or wrong settings leave no trace.
  const input = await openSource(path, context)
  await context.withPool(async (pool) => {
    await assertKnownLanguage(pool, options.language)
    const job = await plan(pool, path, input, options, context.say)
    if (path === '-' && job.format === 'csv' && options.source === undefined)
      context.say(
        `The keys belong to the source '${job.source}'. ` +
          'For a table with other keys, choose another one: --source NAME',
      )
    await withResult(
      options,
      () => readImport(pool, job.id),
      () => finishPlan(pool, job.id, options, context),
    )
  })
}

/** Prints a planned import, and applies it as the options say. */
export async function finishPlan(
  pool: Pool,
  id: number,
  options: Pick<ImportCommandOptions, 'dryRun' | 'apply' | 'yes'>,
  context: CommandContext,
): Promise<void> {
  const job = await readImport(pool, id)
  await printPlan(pool, job)
  await applyIfRequested(pool, job, options, context)
}

async function assertKnownLanguage(pool: Pool, language: string | undefined): Promise<void> {
  const error = await findLanguageError(pool, language)
  if (error)
    throw new CommandError(
      `--language ${quote(escapeLine(language ?? ''))} ${error.detail}.`,
      invalidArguments,
    )
}

async function applyIfRequested(
  pool: Pool,
  job: Import,
  options: Pick<ImportCommandOptions, 'dryRun' | 'apply' | 'yes'>,
  context: CommandContext,
): Promise<void> {
  const { new: created = 0, changed = 0, conflict = 0 } = job.planned
  const hasNoTalks = created + changed + conflict === 0
  const hasNoEntities = job.rows === countTalks(job)
  const shouldApply = options.apply || options.yes
  if (isAllRefused(job)) throw new CommandError(formatNextSteps(job), 4)
  if (hasNoTalks && hasNoEntities && !shouldApply) {
    await print('Nothing to apply.')
    return
  }
  const canApply = !options.dryRun && (shouldApply || isInteractive())
  const confirmation = { yes: options.yes === true, alwaysAsk: !shouldApply }
  if (canApply && (await confirmApply(pool, job.id, confirmation)))
    await finishApplying(pool, job.id, context)
  else await print(formatNextSteps(job))
}

/** Opens a file, a folder, a URL or standard input (-). */
export async function openSource(
  path: string,
  { config, say }: Pick<CommandContext, 'config' | 'say'>,
): Promise<OpenedInput> {
  const { PUBLIC_URL } = config()
  if (path === '-') {
    if (process.stdin.isTTY) say('Reading from the terminal. Press Ctrl-D to finish.')
    return openInput({ stream: process.stdin, name: 'standard input' })
  }
  if (!/^https?:\/\//i.test(path)) return openInput({ path })
  say('Downloading ...')
  const userAgent = `Talkshelf/${version}${PUBLIC_URL === '' ? '' : ` (+${PUBLIC_URL})`}`
  const chunks = await download(path, userAgent)
  return openInput({ stream: toAsync(chunks), name: path })
}

// Downloaded at once: the server would time out while we look up each talk.
async function download(url: string, userAgent: string): Promise<Uint8Array[]> {
  try {
    const chunks: Uint8Array[] = []
    for await (const chunk of await fetchFile(url, userAgent)) chunks.push(chunk)
    return chunks
  } catch (error) {
    if (!(error instanceof InputRefused)) throw error
    throw new InputRefused(
      `${error.message}.\nTo import from a private server: curl URL | talkshelf import -`,
    )
  }
}

async function plan(
  pool: Pool,
  path: string,
  input: OpenedInput,
  options: ImportCommandOptions,
  say: (line: string) => void,
): Promise<Import> {
  const startMs = performance.now()
  const progress = openProgressDisplay(process.stderr, canRedraw())
  const cancelled = new InputRefused('Cancelled while it was read (Ctrl-C)')
  const interrupt = listenForInterrupt(() => {
    progress.end()
    say('Cancelling ...')
    // Otherwise the read would wait for the next line.
    if (path === '-') process.stdin.destroy(cancelled)
  })
  try {
    const name = path === '-' ? input.name : path
    const source = { ...options, name, open: async () => input }
    const { id, planned } = await beginImport(pool, source, commandOrigin(), {
      progress(counts) {
        if (interrupt.signal.aborted) throw cancelled
        progress.show(() => formatReading(counts, (performance.now() - startMs) / 1000))
      },
    })
    await planned
    return await readImport(pool, id)
  } catch (error) {
    if (interrupt.signal.aborted)
      throw new CommandError('Cancelled. Nothing was planned or written.', interrupt.exitCode())
    throw error
  } finally {
    progress.end()
    interrupt.end()
  }
}

/** Returns the operator of this machine, who can access the database and so may do everything. */
export function commandOrigin(): Origin {
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
    // A user in a container may have no name.
    return `user ${process.getuid?.() ?? ''}`.trim()
  }
}

async function* toAsync(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}
