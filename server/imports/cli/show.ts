import { type Import, type importVerdicts, readOnlyFields, videoFields } from '@talkshelf/contract'
import { type CommandContext, CommandError } from '../../command.ts'
import type { Pool } from '../../platform/db/pool.ts'
import type { Decision } from '../engine/queries.ts'
import { decideTalk, listImports, listImportTalks, readImport, stopImport } from '../imports.ts'
import { listTalkPages, retryUnavailable, type TalkFilter } from './drive.ts'
import {
  collectNotes,
  countTalks,
  formatDecision,
  formatHeading,
  formatImport,
  formatImportList,
  formatNextSteps,
  formatNotes,
  formatNumber,
  formatState,
  formatTalk,
  isDecidable,
  type NoteGroup,
  shareByVerdict,
} from './format.ts'
import { outputStyle, print } from './terminal.ts'
import { escapeJson, escapeLine } from './terminal-escape.ts'

// Looking at imports, and deciding about their talks.

/** More than anybody reads through on a terminal. */
export const maxTalksShown = 30
/** Notes are counted in so many talks. */
const maxLooked = 10_000

export async function listCommand(limit: number, { withPool }: CommandContext): Promise<void> {
  await withPool(async (pool) => {
    const imports = await listImports(pool, Number.MAX_SAFE_INTEGER, limit)
    await print(
      imports.length === 0
        ? "Nothing was imported yet. 'talkshelf import --help' tells how."
        : formatImportList(imports),
    )
  })
}

export interface ShowCommandOptions {
  readonly all?: boolean
  readonly verdict?: (typeof importVerdicts)[number]
  readonly touched?: boolean
  readonly json?: boolean
}

export async function showCommand(
  id: number,
  options: ShowCommandOptions,
  { withPool }: CommandContext,
): Promise<void> {
  await withPool(async (pool) => {
    const it = await readImport(pool, id)
    const filter = { verdict: options.verdict, undone: options.touched ? 'touched' : undefined }
    if (options.json) return printJson(pool, it, filter)
    if (!options.all && !options.verdict && !options.touched) {
      await printPlan(pool, it)
    } else {
      await print(formatImport(it, outputStyle()))
      const limit = options.all ? undefined : maxTalksShown
      const count = await printTalks(pool, it, { ...filter, most: limit }, true)
      if (count === 0) await print('  No such talks.')
      if (count === limit && limit !== undefined)
        await print(
          `\nThese are the first ${limit}. All of them:\n  talkshelf imports show ${id}${options.touched ? ' --touched' : ` --verdict ${options.verdict}`} --all`,
        )
      await print('')
    }
    await print(formatNextSteps(it))
  })
}

/** An import with the talks that people want to see first. */
export async function printPlan(pool: Pool, it: Import): Promise<void> {
  const seen = outputStyle()
  await print(formatImport(it, seen))
  let shown = 0
  for (const { verdict, share } of shareByVerdict(it.planned, maxTalksShown)) {
    await print(formatHeading(verdict, share, it.planned[verdict] ?? 0, seen))
    shown += await printTalks(pool, it, { verdict, most: share }, false)
    await print('')
  }
  const total = countTalks(it)
  const groups = new Map<string, NoteGroup>()
  for await (const { talk } of listTalkPages(pool, it.id, { most: maxLooked }))
    collectNotes(groups, talk)
  const notes = formatNotes(groups, total > maxLooked ? maxLooked : undefined, seen)
  if (notes !== '') await print(notes)
  if (shown < total || notes !== '')
    await print(
      `All ${formatNumber(total)} talks, with their notes:\n  talkshelf imports show ${it.id} --all\n`,
    )
}

/** Tells how many. */
export async function printTalks(
  pool: Pool,
  it: Import,
  filter: TalkFilter,
  hasNotes: boolean,
): Promise<number> {
  let count = 0
  for await (const { talk, decision } of listTalkPages(pool, it.id, filter)) {
    count++
    const seen = {
      ...outputStyle(),
      importId: it.id,
      isOpen: isDecidable(it) && talk.outcome === null,
      hasNotes,
    }
    if (!(await print(formatTalk(talk, decision, seen)))) break
  }
  return count
}

async function printJson(pool: Pool, it: Import, filter: TalkFilter): Promise<void> {
  await print(`{"import":${escapeJson(it)},"talks":[`)
  let before = ''
  for await (const { talk } of listTalkPages(pool, it.id, filter)) {
    if (!(await print(`${before}${escapeJson(talk)}`))) return
    before = ','
  }
  await print(']}')
}

export async function stopCommand(id: number, { withPool }: CommandContext): Promise<void> {
  await withPool(async (pool) => {
    const it = await retryUnavailable(() => stopImport(pool, id))
    await print(`Import ${id} is ${formatState(it)}.\n${formatNextSteps(it)}`)
  })
}

export interface DecideCommandOptions {
  readonly take?: readonly string[]
  readonly keep?: boolean
  readonly same?: boolean
  readonly notSame?: boolean
}

export async function decideCommand(
  id: number,
  position: number,
  options: DecideCommandOptions,
  { withPool }: CommandContext,
): Promise<void> {
  const decision = decisionOf(options)
  await withPool(async (pool) => {
    const [talk] = await listImportTalks(pool, id, { after: position - 1, limit: 1 })
    if (talk?.position !== position)
      throw new CommandError(
        `Import ${id} has no talk ${position}. 'talkshelf imports show ${id} --all' shows them.`,
      )
    if (talk.verdict !== 'conflict' && talk.verdict !== 'changed')
      throw new CommandError(
        `There is nothing to decide about talk ${position}: it is ${talk.verdict}.`,
      )
    const isQuestion = talk.notes.some(({ kind }) => kind === 'question')
    if (isQuestion ? decision.same === undefined && !options.keep : decision.same !== undefined)
      throw new CommandError(
        isQuestion
          ? `Talk ${position} looks like a record that is there. Say whether it is that one: --same or --not-same.`
          : `It is known which record talk ${position} is. Say in which fields the file is right: --take FIELD,...`,
        2,
      )
    await retryUnavailable(() => decideTalk(pool, id, position, decision))
    await print(
      `Decided about ${escapeLine(talk.title ?? 'the talk')} (#${position}): ${formatDecision(decision)}.`,
    )
    await print(`When all is decided:\n  talkshelf imports apply ${id}`)
  })
}

function decisionOf({ take, keep, same, notSame }: DecideCommandOptions): Decision {
  if (keep ? (take ?? same ?? notSame) !== undefined : (take ?? same ?? notSame) === undefined)
    throw new CommandError(
      'Say what you decide: --take FIELD,... or --keep; where it is asked whether it is a record that is there, --same or --not-same.',
      2,
    )
  const written = videoFields.filter((field) => !readOnlyFields.some((other) => other === field))
  const unknown = take?.filter((field) => !written.some((known) => known === field)) ?? []
  if (unknown.length > 0)
    throw new CommandError(
      `There is no field ${unknown.map(escapeLine).join(', ')}. The fields are: ${written.join(', ')}.`,
      2,
    )
  return { ...(take && { take }), ...(same && { same: true }), ...(notSame && { same: false }) }
}
