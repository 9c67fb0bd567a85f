import type { Import } from '@talkshelf/contract'
import { type CommandContext, CommandError } from '../../command.ts'
import { Unavailable } from '../../platform/db/db.ts'
import type { Pool } from '../../platform/db/pool.ts'
import { applyImport, readImport, undoImport } from '../imports.ts'
import { countUndecided, driveImport, retryUnavailable } from './drive.ts'
import { formatCount, formatNextSteps, formatNumber, formatOutcome, formatState } from './format.ts'
import { formatTime, formatWork, openProgressDisplay } from './progress.ts'
import { maxTalksShown, printTalks } from './show.ts'
import { canRedraw, confirm, isInteractive, listenForInterrupt, print } from './terminal.ts'

// Applying and undoing, as somebody watches it.

export async function applyCommand(
  id: number,
  yes: boolean,
  context: CommandContext,
): Promise<void> {
  await context.withPool(async (pool) => {
    const it = await readImport(pool, id)
    // Only what is planned can wait for a decision: the rest is on its way, or told that it can't
    // be applied.
    const mayGoOn = it.state !== 'planned' || (await mayApply(pool, id, { yes, isAsked: false }))
    if (mayGoOn) await finishApplying(pool, id, context)
    else await print(formatNextSteps(it))
  })
}

/**
 * Asks where it has to be asked; throws where nobody is there who could answer. `isAsked`: also
 * where there is nothing to decide.
 */
export async function mayApply(
  pool: Pool,
  id: number,
  { yes, isAsked }: { yes: boolean; isAsked: boolean },
): Promise<boolean> {
  if (yes) return true
  const count = await countUndecided(pool, id)
  if (count === 0 && !isAsked) return true
  const undecided = `${formatCount(count, 'talk')} ${count === 1 ? 'is' : 'are'} undecided`
  if (isInteractive())
    return confirm(
      count === 0 ? 'Apply?' : `${undecided}: applied now, what people wrote here stays. Apply?`,
    )
  throw new CommandError(
    `${undecided}, so nothing was written. Decide them, or let what people wrote here stay with --yes:\n` +
      `  talkshelf imports show ${id} --verdict conflict\n  talkshelf imports apply ${id} --yes`,
    3,
  )
}

export async function finishApplying(
  pool: Pool,
  id: number,
  { say }: CommandContext,
): Promise<void> {
  await retryUnavailable(() => applyImport(pool, id, 'admin'))
  const seconds = await watched(pool, id, 'Applying', say)
  const it = await readImport(pool, id)
  if (it.state === 'undoing' || it.state === 'undone')
    throw new CommandError(`Somebody has taken import ${id} back meanwhile.`)
  if (it.state !== 'applied')
    throw new CommandError(`Import ${id} is ${formatState(it)}.\n${formatNextSteps(it)}`)
  await print(`Import ${id} is applied, in ${formatTime(seconds)}: ${formatOutcome(it.outcome)}.`)
  await print(
    `To look at it, and to take it back:\n  talkshelf imports show ${id}\n  talkshelf imports undo ${id}`,
  )
  const refused = it.outcome.refused ?? 0
  if (refused > 0)
    throw new CommandError(
      `${formatCount(refused, 'talk')} ${refused === 1 ? 'was' : 'were'} refused and left out. To see why:\n  talkshelf imports show ${id} --verdict refused`,
      4,
    )
}

export async function undoCommand(
  id: number,
  yes: boolean,
  context: CommandContext,
): Promise<void> {
  await context.withPool(async (pool) => {
    const before = await readImport(pool, id)
    if (before.state === 'undone') return void (await print(`Import ${id} is undone already.`))
    if (
      !yes &&
      (before.state === 'applied' || before.state === 'stopped') &&
      !(await mayUndo(before))
    )
      return void (await print('Everything stays as it is.'))
    await retryUnavailable(() => undoImport(pool, id))
    const seconds = await watched(pool, id, 'Undoing', context.say)
    const it = await readImport(pool, id)
    const { undone = 0, touched = 0 } = it.undone
    await print(
      `Import ${id} is undone, in ${formatTime(seconds)}: ${formatCount(undone, 'talk')} taken back.`,
    )
    if (touched === 0) return
    await print(
      `${formatCount(touched, 'talk')} stayed, because somebody has touched ${touched === 1 ? 'it' : 'them'} since:`,
    )
    await printTalks(pool, it, { undone: 'touched', most: maxTalksShown }, false)
    if (touched > maxTalksShown)
      await print(`All of them:\n  talkshelf imports show ${id} --touched --all`)
  })
}

async function mayUndo({ id, outcome }: Import): Promise<boolean> {
  const { created = 0, changed = 0 } = outcome
  const what = `Import ${id} made ${formatCount(created, 'record')} and changed ${formatNumber(changed)}. Made ones become drafts, changed ones are as before; what was touched since stays.`
  if (isInteractive()) return confirm(`${what}\nTake it back?`)
  throw new CommandError(`${what}\nIf that is what you want: talkshelf imports undo ${id} --yes`, 3)
}

/** Until it is done; tells how many seconds that took. */
async function watched(
  pool: Pool,
  id: number,
  verb: 'Applying' | 'Undoing',
  say: (line: string) => void,
): Promise<number> {
  const begun = performance.now()
  const seconds = () => (performance.now() - begun) / 1000
  const progress = openProgressDisplay(process.stderr, canRedraw())
  const told = listenForInterrupt(() => {
    progress.end()
    say(`Stopping after the batch under way ... (Ctrl-C once more ends at once)`)
  })
  let first: number | undefined
  let last = ''
  try {
    const state = await driveImport(pool, id, {
      signal: told.signal,
      onProgress({ rows, done: at }) {
        // Undoing goes backwards.
        const done = verb === 'Undoing' ? rows - at : at
        first ??= done
        last = `${formatNumber(done)} of ${formatNumber(rows)}`
        const work = { verb, done, total: rows, before: first, seconds: seconds() }
        if (!told.signal.aborted) progress.show((width) => formatWork(work, width))
      },
    })
    if (told.signal.aborted && (state === 'stopped' || state === 'undoing')) {
      progress.end()
      throw new CommandError(
        `Stopped at ${last}, and no talk is half written.\n${goingOn(id, verb)}`,
        told.exitCode(),
      )
    }
    return seconds()
  } catch (error) {
    progress.end()
    if (error instanceof Unavailable)
      say(`Stuck at ${last}; nothing is lost, and no talk is half written. ${goingOn(id, verb)}`)
    throw error
  } finally {
    progress.end()
    told.end()
  }
}

function goingOn(id: number, verb: 'Applying' | 'Undoing'): string {
  return verb === 'Applying'
    ? `To go on, or to take back what was written:\n  talkshelf imports apply ${id}\n  talkshelf imports undo ${id}`
    : `A server goes on with it by itself. To go on here:\n  talkshelf imports undo ${id}`
}
