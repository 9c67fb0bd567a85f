import { type Import, readOnlyFields, type verdicts, videoFields } from '@talkshelf/contract'
import { type CommandContext, CommandError } from '../command.ts'
import type { Pool } from '../platform/db/pool.ts'
import { decideTalk, listImports, listTalks, readImport, stopImport } from './imports.ts'
import { plain, plainJson } from './plain.ts'
import type { Decision } from './queries.ts'
import { patiently, type TalkFilter, talksOf } from './run.ts'
import {
  countTalks,
  decisionShown,
  gather,
  headShown,
  importShown,
  isOpen,
  listShown,
  type NoteGroup,
  nextShown,
  notesShown,
  numberShown,
  shares,
  stateShown,
  talkShown,
} from './show.ts'
import { look, print } from './terminal.ts'

// Looking at imports, and deciding about their talks.

/** More than anybody reads through on a terminal. */
export const mostShown = 30
/** Notes are counted in so many talks. */
const mostLooked = 10_000

export async function listCommand(limit: number, { withPool }: CommandContext): Promise<void> {
  await withPool(async (pool) => {
    const imports = await listImports(pool, Number.MAX_SAFE_INTEGER, limit)
    await print(imports.length === 0 ? "Nothing was imported yet. 'talkshelf import --help' tells how." : listShown(imports))
  })
}

export interface ShowOptions {
  readonly all?: boolean
  readonly verdict?: (typeof verdicts)[number]
  readonly touched?: boolean
  readonly json?: boolean
}

export async function showCommand(id: number, options: ShowOptions, { withPool }: CommandContext): Promise<void> {
  await withPool(async (pool) => {
    const it = await readImport(pool, id)
    const filter = { verdict: options.verdict, undone: options.touched ? 'touched' : undefined }
    if (options.json) return printJson(pool, it, filter)
    if (!options.all && !options.verdict && !options.touched) {
      await printPlan(pool, it)
    } else {
      await print(importShown(it, look()))
      const most = options.all ? undefined : mostShown
      const count = await printTalks(pool, it, { ...filter, most }, true)
      if (count === 0) await print('  No such talks.')
      if (count === most && most !== undefined)
        await print(
          `\nThese are the first ${most}. All of them:\n  talkshelf imports show ${id}${options.touched ? ' --touched' : ` --verdict ${options.verdict}`} --all`,
        )
      await print('')
    }
    await print(nextShown(it))
  })
}

/** An import with the talks that people want to see first. */
export async function printPlan(pool: Pool, it: Import): Promise<void> {
  const seen = look()
  await print(importShown(it, seen))
  let shown = 0
  for (const { verdict, share } of shares(it.planned, mostShown)) {
    await print(headShown(verdict, share, it.planned[verdict] ?? 0, seen))
    shown += await printTalks(pool, it, { verdict, most: share }, false)
    await print('')
  }
  const total = countTalks(it)
  const groups = new Map<string, NoteGroup>()
  for await (const { talk } of talksOf(pool, it.id, { most: mostLooked })) gather(groups, talk)
  const notes = notesShown(groups, total > mostLooked ? mostLooked : undefined, seen)
  if (notes !== '') await print(notes)
  if (shown < total || notes !== '')
    await print(`All ${numberShown(total)} talks, with their notes:\n  talkshelf imports show ${it.id} --all\n`)
}

/** Tells how many. */
export async function printTalks(pool: Pool, it: Import, filter: TalkFilter, hasNotes: boolean): Promise<number> {
  let count = 0
  for await (const { talk, decision } of talksOf(pool, it.id, filter)) {
    count++
    const seen = { ...look(), importId: it.id, isOpen: isOpen(it) && talk.outcome === null, hasNotes }
    if (!(await print(talkShown(talk, decision, seen)))) break
  }
  return count
}

async function printJson(pool: Pool, it: Import, filter: TalkFilter): Promise<void> {
  await print(`{"import":${plainJson(it)},"talks":[`)
  let before = ''
  for await (const { talk } of talksOf(pool, it.id, filter)) {
    if (!(await print(`${before}${plainJson(talk)}`))) return
    before = ','
  }
  await print(']}')
}

export async function stopCommand(id: number, { withPool }: CommandContext): Promise<void> {
  await withPool(async (pool) => {
    const it = await patiently(() => stopImport(pool, id))
    await print(`Import ${id} is ${stateShown(it)}.\n${nextShown(it)}`)
  })
}

export interface DecideOptions {
  readonly take?: readonly string[]
  readonly keep?: boolean
  readonly same?: boolean
  readonly notSame?: boolean
}

export async function decideCommand(id: number, position: number, options: DecideOptions, { withPool }: CommandContext): Promise<void> {
  const decision = decisionOf(options)
  await withPool(async (pool) => {
    const [talk] = await listTalks(pool, id, { after: position - 1, limit: 1 })
    if (talk?.position !== position)
      throw new CommandError(`Import ${id} has no talk ${position}. 'talkshelf imports show ${id} --all' shows them.`)
    if (talk.verdict !== 'conflict' && talk.verdict !== 'changed')
      throw new CommandError(`There is nothing to decide about talk ${position}: it is ${talk.verdict}.`)
    const isQuestion = talk.notes.some(({ kind }) => kind === 'question')
    if (isQuestion ? decision.same === undefined && !options.keep : decision.same !== undefined)
      throw new CommandError(
        isQuestion
          ? `Talk ${position} looks like a record that is there. Say whether it is that one: --same or --not-same.`
          : `It is known which record talk ${position} is. Say in which fields the file is right: --take FIELD,...`,
        2,
      )
    await patiently(() => decideTalk(pool, id, position, decision))
    await print(`Decided about ${plain(talk.title ?? 'the talk')} (#${position}): ${decisionShown(decision)}.`)
    await print(`When all is decided:\n  talkshelf imports apply ${id}`)
  })
}

function decisionOf({ take, keep, same, notSame }: DecideOptions): Decision {
  if (keep ? (take ?? same ?? notSame) !== undefined : (take ?? same ?? notSame) === undefined)
    throw new CommandError(
      'Say what you decide: --take FIELD,... or --keep; where it is asked whether it is a record that is there, --same or --not-same.',
      2,
    )
  const written = videoFields.filter((field) => !readOnlyFields.some((other) => other === field))
  const unknown = take?.filter((field) => !written.some((known) => known === field)) ?? []
  if (unknown.length > 0)
    throw new CommandError(`There is no field ${unknown.map(plain).join(', ')}. The fields are: ${written.join(', ')}.`, 2)
  return { ...(take && { take }), ...(same && { same: true }), ...(notSame && { same: false }) }
}
