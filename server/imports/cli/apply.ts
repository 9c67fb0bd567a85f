import type { Import } from '@talkshelf/contract'
import { paths } from '@talkshelf/web'
import { type CommandContext, CommandError, type JsonOption, withResult } from '../../command.ts'
import type { Config } from '../../config.ts'
import { Unavailable } from '../../platform/db/db.ts'
import type { Pool } from '../../platform/db/pool.ts'
import {
  canRedraw,
  confirm,
  isInteractive,
  listenForInterrupt,
  print,
} from '../../platform/terminal.ts'
import {
  applyImport,
  listImportEvents,
  readImport,
  readRefused,
  redoImport,
  undoImport,
} from '../imports.ts'
import { countUndecided, driveImport, retryUnavailable } from './drive.ts'
import {
  countTalks,
  formatCount,
  formatKeptAdvice,
  formatNextSteps,
  formatNumber,
  formatOutcome,
  formatState,
  isAllRefused,
  talksDone,
} from './format.ts'
import { formatTime, formatWork, openProgressDisplay } from './progress.ts'
import { maxTalksShown, printTalks } from './show.ts'

// Applies and undoes imports, with progress and confirmation.

export interface ApplyCommandOptions extends JsonOption {
  readonly yes?: boolean
}

/** Does the work of a command, and prints the import at the end if JSON is requested. */
function withImport(
  id: number,
  options: JsonOption,
  { withPool }: CommandContext,
  work: (pool: Pool, job: Import) => Promise<void>,
): Promise<void> {
  return withPool(async (pool) => {
    // Fails before anything else if there is no such import.
    const job = await readImport(pool, id)
    await withResult(
      options,
      () => readImport(pool, id),
      () => work(pool, job),
    )
  })
}

/** Applies a planned import, or continues one that was stopped. */
export async function applyCommand(
  id: number,
  options: ApplyCommandOptions,
  context: CommandContext,
): Promise<void> {
  const yes = options.yes === true
  await withImport(id, options, context, async (pool, job) => {
    if (job.state === 'planned' && isAllRefused(job))
      throw new CommandError(formatNextSteps(job), 4)
    // Only a planned import can be undecided. In other states it continues, or applying it fails.
    const isConfirmed =
      job.state !== 'planned' || (await confirmApply(pool, id, { yes, alwaysAsk: false }))
    if (isConfirmed) await finishApplying(pool, id, context)
    else await print(formatNextSteps(job))
  })
}

/**
 * Asks whether to apply an import if talks are undecided, or if `alwaysAsk` is set. Throws if it
 * has to ask without a terminal.
 */
export async function confirmApply(
  pool: Pool,
  id: number,
  { yes, alwaysAsk }: { yes: boolean; alwaysAsk: boolean },
): Promise<boolean> {
  if (yes) return true
  const count = await countUndecided(pool, id)
  if (count === 0 && !alwaysAsk) return true
  const undecided = `${formatCount(count, 'talk')} ${count === 1 ? 'is' : 'are'} undecided`
  if (isInteractive())
    return confirm(count === 0 ? 'Apply?' : `${undecided}: the values here will be kept. Apply?`)
  throw new CommandError(
    [
      `${undecided}, so nothing was written. To see them, to take the values of the file, ` +
        'or to keep those here:',
      `  talkshelf imports show ${id} --verdict conflict`,
      `  talkshelf imports decide ${id} --take theirs`,
      `  talkshelf imports apply ${id} --yes`,
    ].join('\n'),
    3,
  )
}

/** Applies an import to its end and prints the result. */
export async function finishApplying(
  pool: Pool,
  id: number,
  { say, config }: CommandContext,
): Promise<void> {
  await retryUnavailable(() => applyImport(pool, id, 'admin'))
  const seconds = await runWithProgress(pool, id, 'Applying', say)
  const job = await readImport(pool, id)
  if (job.state === 'undoing' || job.state === 'undone')
    throw new CommandError(`Import ${id} was undone in the meantime.`)
  if (job.state !== 'applied')
    throw new CommandError(`Import ${id} is ${formatState(job)}.\n${formatNextSteps(job)}`)
  await print(`Import ${id} applied in ${formatTime(seconds)}: ${formatOutcome(job.outcome)}.`)
  await printEvents(pool, id, siteUrl(config()))
  await print(
    `To review or undo it:\n  talkshelf imports show ${id}\n  talkshelf imports undo ${id}`,
  )
  const refused = job.outcome.refused ?? 0
  if (refused === 0) return
  const { rows: correctable } = await readRefused(pool, id, 0, { rows: 1000, length: 1 })
  throw new CommandError(
    `${formatCount(refused, 'talk')} ${refused === 1 ? 'was' : 'were'} refused. To see why:\n` +
      `  talkshelf imports show ${id} --verdict refused` +
      (correctable === 0
        ? ''
        : `\nTo correct them in a table:\n  talkshelf imports refused ${id} > refused.csv`),
    4,
  )
}

/** Applies an undone import again. */
export async function redoCommand(
  id: number,
  options: JsonOption,
  context: CommandContext,
): Promise<void> {
  await withImport(id, options, context, async (pool) => {
    await retryUnavailable(() => redoImport(pool, id, 'admin'))
    await finishApplying(pool, id, context)
  })
}

/** Returns the URL of the archive. Without PUBLIC_URL, that of a server on this machine. */
function siteUrl({ PUBLIC_URL, HOST, PORT }: Config): string {
  return PUBLIC_URL || `http://${/^(0\.0\.0\.0|::)$/.test(HOST) ? 'localhost' : HOST}:${PORT}`
}

const maxEventsShown = 5

/** Prints the addresses of the events whose talks were written. */
async function printEvents(pool: Pool, id: number, publicUrl: string): Promise<void> {
  const events = await listImportEvents(pool, id, maxEventsShown + 1)
  const lines = events
    .slice(0, maxEventsShown)
    .map((event) => `  ${publicUrl}${paths.entity('category', event)}`)
  if (lines.length === 0) return
  const more = events.length > maxEventsShown ? '\n  and more' : ''
  await print(
    `${lines.length === 1 ? 'The event is at' : 'The events are at'}:\n${lines.join('\n')}${more}`,
  )
}

/** Undoes an import after a confirmation, and lists the talks that could not be undone. */
export async function undoCommand(
  id: number,
  options: ApplyCommandOptions,
  context: CommandContext,
): Promise<void> {
  await withImport(id, options, context, async (pool, before) => {
    const { touched = 0 } = before.undone
    if (before.state === 'undone' && touched === 0)
      return void (await print(`Import ${id} is already undone.`))
    const canUndo = ['applied', 'stopped', 'undone'].includes(before.state)
    if (!options.yes && canUndo && !(await confirmUndo(before)))
      return void (await print('Nothing was undone.'))
    await retryUnavailable(() => undoImport(pool, id))
    const seconds = await runWithProgress(pool, id, 'Undoing', context.say)
    await printUndone(pool, await readImport(pool, id), seconds)
  })
}

async function printUndone(pool: Pool, job: Import, seconds: number): Promise<void> {
  const { id } = job
  const { undone: reverted = 0, touched = 0 } = job.undone
  await print(
    `Import ${id} undone in ${formatTime(seconds)}: ${formatCount(reverted, 'talk')} reverted.`,
  )
  if (touched === 0) return
  const [verb, pronoun] = touched === 1 ? ['was', 'it'] : ['were', 'they']
  await print(
    `${formatCount(touched, 'talk')} ${verb} kept because ${pronoun} changed since the import:`,
  )
  await printTalks(pool, job, { undone: 'touched', limit: maxTalksShown }, false)
  if (touched > maxTalksShown)
    await print(`To see all of them:\n  talkshelf imports show ${id} --touched --all`)
  await print(formatKeptAdvice(job))
}

async function confirmUndo({ id, outcome }: Import): Promise<boolean> {
  const { created = 0, changed = 0 } = outcome
  const effect = [
    `Import ${id} created ${formatCount(created, 'record')} and changed ${formatNumber(changed)}.`,
    'Undoing it turns created records into drafts and restores changed ones.',
    'Records that changed since the import are kept.',
  ].join('\n')
  if (isInteractive()) return confirm(`${effect}\nUndo it?`)
  throw new CommandError(`${effect}\nTo undo it:\n  talkshelf imports undo ${id} --yes`, 3)
}

/** Drives an import to its end with a progress bar. Returns the seconds that it took. */
async function runWithProgress(
  pool: Pool,
  id: number,
  verb: 'Applying' | 'Undoing',
  say: (line: string) => void,
): Promise<number> {
  const startMs = performance.now()
  const seconds = () => (performance.now() - startMs) / 1000
  const total = countTalks(await retryUnavailable(() => readImport(pool, id)))
  const progress = openProgressDisplay(process.stderr, canRedraw())
  const interrupt = listenForInterrupt(() => {
    progress.end()
    say('Stopping after the current batch ... (press Ctrl-C again to quit now)')
  })
  let doneAtStart: number | undefined
  let position = ''
  try {
    const state = await driveImport(pool, id, {
      signal: interrupt.signal,
      onProgress(job) {
        const doneAll = talksDone(job, total)
        // Undoing counts down.
        const done = verb === 'Undoing' ? total - doneAll : doneAll
        doneAtStart ??= done
        position = `${formatNumber(done)} of ${formatCount(total, 'talk')}`
        const work = { verb, done, total, before: doneAtStart, seconds: seconds() }
        if (!interrupt.signal.aborted) progress.show((width) => formatWork(work, width))
      },
    })
    if (interrupt.signal.aborted && (state === 'stopped' || state === 'undoing')) {
      progress.end()
      throw new CommandError(
        `Stopped at ${position}. No talk is half written.\n${formatContinuation(id, verb)}`,
        interrupt.exitCode(),
      )
    }
    return seconds()
  } catch (error) {
    progress.end()
    if (error instanceof Unavailable)
      say(`Stuck at ${position}. No talk is half written.\n${formatContinuation(id, verb)}`)
    throw error
  } finally {
    progress.end()
    interrupt.end()
  }
}

function formatContinuation(id: number, verb: 'Applying' | 'Undoing'): string {
  if (verb === 'Undoing')
    return `A running server continues by itself. To continue here:\n  talkshelf imports undo ${id}`
  return [
    'To continue, or to undo what was written:',
    `  talkshelf imports apply ${id}`,
    `  talkshelf imports undo ${id}`,
  ].join('\n')
}
