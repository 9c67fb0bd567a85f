import {
  type FieldError,
  type Import,
  type ImportedTalk,
  type importVerdicts,
  Problem,
  type RefusedRows,
  readOnlyFields,
  videoFields,
} from '@talkshelf/contract'
import { type CommandContext, CommandError, type JsonOption } from '../../command.ts'
import type { Pool } from '../../platform/db/pool.ts'
import { outputStyle, print, printJson } from '../../platform/terminal.ts'
import { escapeJson, escapeLine, escapeLines } from '../../platform/terminal-escape.ts'
import { type Decision, findDecisions } from '../engine/queries.ts'
import {
  decideFields,
  decideTalk,
  discardImport,
  listImports,
  listImportTalks,
  readImport,
  readRefused,
  stopImport,
} from '../imports.ts'
import { listTalkPages, retryUnavailable, type TalkFilter } from './drive.ts'
import {
  collectNotes,
  countTalks,
  formatCount,
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
  isEdit,
  type NoteGroup,
  shareByVerdict,
} from './format.ts'
import { formatAdditions, formatIgnoredCells, formatWarnings } from './format-summary.ts'

// Shows imports, and decides about their talks.

/** The maximum number of talks that a command prints unless all are requested. */
export const maxTalksShown = 30
/** The maximum number of talks whose notes are counted. */
const maxTalksWithNotes = 10_000

/** Prints the newest imports. */
export async function listCommand(
  { limit, json }: { readonly limit: number } & JsonOption,
  { withPool }: CommandContext,
): Promise<void> {
  await withPool(async (pool) => {
    const imports = await listImports(pool, Number.MAX_SAFE_INTEGER, limit)
    if (json) return void (await printJson(imports))
    await print(
      imports.length === 0
        ? "No imports yet. To start one, see 'talkshelf import --help'."
        : formatImportList(imports),
    )
  })
}

export interface ShowCommandOptions {
  readonly all?: boolean
  readonly verdict?: (typeof importVerdicts)[number]
  /** Only talks that an undo left as they are, because they were edited after the import. */
  readonly touched?: boolean
  /** Only talks with warnings. */
  readonly warnings?: boolean
  /** Prints all matching talks as one JSON document. */
  readonly json?: boolean
}

/** Prints an import with some or all of its talks. */
export async function showCommand(
  id: number,
  options: ShowCommandOptions,
  { withPool }: CommandContext,
): Promise<void> {
  await withPool(async (pool) => {
    const job = await readImport(pool, id)
    if (options.json) return printTalksAsJson(pool, job, talkFilter(options))
    if (options.all || options.verdict || options.touched || options.warnings)
      await printFiltered(pool, job, options)
    else await printPlan(pool, job)
    await print(formatNextSteps(job))
  })
}

function talkFilter({ verdict, touched, warnings }: ShowCommandOptions): TalkFilter {
  return {
    verdict,
    undone: touched ? 'touched' : undefined,
    note: warnings ? 'warning' : undefined,
  }
}

async function printFiltered(pool: Pool, job: Import, options: ShowCommandOptions): Promise<void> {
  await print(formatImport(job, outputStyle()))
  const limit = options.all ? undefined : maxTalksShown
  const count = await printTalks(pool, job, { ...talkFilter(options), limit }, true)
  if (count === 0) await print('  No matching talks.')
  if (count === limit) {
    const flags = [
      ...(options.verdict ? [`--verdict ${options.verdict}`] : []),
      ...(options.touched ? ['--touched'] : []),
      ...(options.warnings ? ['--warnings'] : []),
      '--all',
    ].join(' ')
    await print(
      `\nThese are the first ${limit}. To see all:\n  talkshelf imports show ${job.id} ${flags}`,
    )
  }
  await print('')
}

/** Prints an import with a selection of its talks and a summary of its notes. */
export async function printPlan(pool: Pool, job: Import): Promise<void> {
  const style = outputStyle()
  await print(formatImport(job, style))
  let printed = 0
  for (const { verdict, share } of shareByVerdict(job.planned, maxTalksShown)) {
    await print(formatHeading(verdict, share, job.planned[verdict] ?? 0, style))
    printed += await printTalks(pool, job, { verdict, limit: share }, false)
    await print('')
  }
  const summary = [
    formatAdditions(job, style),
    formatWarnings(job, style),
    formatIgnoredCells(job, style),
  ]
  for (const text of summary) if (text !== '') await print(text)
  const total = countTalks(job)
  const groups = new Map<string, NoteGroup>()
  for await (const { talk } of listTalkPages(pool, job.id, { limit: maxTalksWithNotes }))
    collectNotes(groups, talk)
  const notes = formatNotes(
    groups,
    total > maxTalksWithNotes ? maxTalksWithNotes : undefined,
    style,
  )
  if (notes !== '') await print(notes)
  if (printed < total || notes !== '')
    await print(
      `To see all ${formatNumber(total)} talks with their notes:\n` +
        `  talkshelf imports show ${job.id} --all\n`,
    )
}

/**
 * Prints talks, until standard output is closed. Returns how many. Without `hasAllNotes`, of the
 * notes only refusals and questions are printed.
 */
export async function printTalks(
  pool: Pool,
  job: Import,
  filter: TalkFilter,
  hasAllNotes: boolean,
): Promise<number> {
  let count = 0
  for await (const { talk, decision } of listTalkPages(pool, job.id, filter)) {
    count++
    const style = {
      ...outputStyle(),
      importId: job.id,
      isEdit: isEdit(job),
      isOpen: isDecidable(job) && talk.outcome === null,
      hasAllNotes,
    }
    if (!(await print(formatTalk(talk, decision, style)))) break
  }
  return count
}

async function printTalksAsJson(pool: Pool, job: Import, filter: TalkFilter): Promise<void> {
  await print(`{"import":${escapeJson(job)},"talks":[`)
  let separator = ''
  for await (const { talk } of listTalkPages(pool, job.id, filter)) {
    if (!(await print(`${separator}${escapeJson(talk)}`))) return
    separator = ','
  }
  await print(']}')
}

/** The table is in memory. */
const refusedLimits = { rows: 100_000, length: 100_000_000 }

/** Prints the refused talks as a table. */
export async function refusedCommand(id: number, { withPool, say }: CommandContext): Promise<void> {
  await withPool(async (pool) => {
    const { source } = await readImport(pool, id)
    const { csv, rows, omitted, next_after } = await readRefused(pool, id, 0, refusedLimits)
    if (rows === 0) {
      say(
        `Import ${id} has no refused talks to correct${omitted.length === 0 ? '' : ' in a table'}.`,
      )
      return sayOmitted(omitted, say)
    }
    await print((process.stdout.isTTY ? escapeLines(csv) : csv).trimEnd())
    if (next_after !== null) say(`These are the first ${formatNumber(rows)}.`)
    const options = `--format csv --source '${escapeLine(source)}'`
    sayOmitted(omitted, say)
    say(`When they are correct: talkshelf import FILE ${options}`)
  })
}

const maxOmittedShown = 20

/** Says which refused talks are not in the table, and why. */
function sayOmitted(omitted: RefusedRows['omitted'], say: (line: string) => void): void {
  if (omitted.length === 0) return
  const [verb, pronoun] = omitted.length === 1 ? ['is', 'it'] : ['are', 'them']
  say(
    `${formatCount(omitted.length, 'refused talk')} ${verb} not in this table. ` +
      `Correct ${pronoun} in the file, or leave ${pronoun} out:`,
  )
  for (const { place, reason } of omitted.slice(0, maxOmittedShown))
    say(`  ${escapeLine(place)}: ${escapeLine(reason)}`)
  if (omitted.length > maxOmittedShown)
    say(`  and ${formatNumber(omitted.length - maxOmittedShown)} more`)
}

/** Stops an import that is being applied. */
export async function stopCommand(
  id: number,
  { json }: JsonOption,
  { withPool }: CommandContext,
): Promise<void> {
  await withPool(async (pool) => {
    const job = await retryUnavailable(() => stopImport(pool, id))
    if (json) return void (await printJson(job))
    await print(`Import ${id} is ${formatState(job)}.\n${formatNextSteps(job)}`)
  })
}

export interface DecideCommandOptions {
  /** The fields whose values are taken from the file. */
  readonly take?: readonly string[]
  /** The fields to decide for all conflicts. */
  readonly field?: readonly string[]
  /** Keeps the record as it is. Replaces an earlier decision. */
  readonly keep?: boolean
  /** The talk is the record that it resembles, or the one with this id. */
  readonly same?: true | number
  readonly notSame?: boolean
}

/** Decides all conflicts of an import in some fields, or in all. */
export async function decideFieldsCommand(
  id: number,
  { take, field, keep, same, notSame }: DecideCommandOptions,
  context: CommandContext,
): Promise<void> {
  if (typeof same === 'number')
    throw new CommandError(
      'A record needs the number of its talk:\n' +
        `  talkshelf imports decide ${id} POSITION --same ${same}`,
      2,
    )
  if ((same || notSame) && !take && !field && !keep)
    return decideQuestions(id, same === true, context)
  const [side] = keep ? ['mine'] : (take ?? [])
  if ((side !== 'theirs' && side !== 'mine') || (take?.length ?? 1) > 1 || same || notSame)
    throw new CommandError(
      'Without the number of a talk, choose --take theirs or --take mine, for all fields in\n' +
        'conflict or only some: --field FIELD,... For all talks that resemble a record, choose\n' +
        '--same or --not-same.',
      2,
    )
  assertWritable(field ?? [])
  await context.withPool(async (pool) => {
    const decision = { take: side, ...(field && { fields: [...field] }) } as const
    const count = await retryUnavailable(() => decideFields(pool, id, decision))
    const what = field ? field.join(', ') : 'all fields in conflict'
    const whose = side === 'theirs' ? 'take the values of the file' : 'keep the values here'
    await print(`Decided ${formatCount(count, 'talk')}: ${what}: ${whose}.`)
    await print(`When everything is decided:\n  talkshelf imports apply ${id}`)
  })
}

/** Decides all talks that resemble a record and are undecided. */
async function decideQuestions(
  id: number,
  same: boolean,
  { withPool }: CommandContext,
): Promise<void> {
  await withPool(async (pool) => {
    let count = 0
    for await (const { talk, decision } of listTalkPages(pool, id, { verdict: 'conflict' })) {
      if (decision !== null || !talk.notes.some(({ kind }) => kind === 'question')) continue
      await retryUnavailable(() => decideTalk(pool, id, talk.position, { same }))
      count++
    }
    await print(`Decided ${formatCount(count, 'talk')}: ${formatDecision({ same })}.`)
    await print(`When everything is decided:\n  talkshelf imports apply ${id}`)
  })
}

/** Deletes an import that was never applied. */
export async function discardCommand(id: number, { withPool }: CommandContext): Promise<void> {
  await withPool(async (pool) => {
    await retryUnavailable(() => discardImport(pool, id))
    await print(`Import ${id} was deleted. It had written nothing.`)
  })
}

/** Saves a decision about a talk in conflict. */
export async function decideCommand(
  id: number,
  position: number,
  options: DecideCommandOptions,
  { withPool }: CommandContext,
): Promise<void> {
  const chosen = parseDecision(options)
  await withPool(async (pool) => {
    const [talk] = await listImportTalks(pool, id, { after: position - 1, limit: 1 })
    if (talk?.position !== position)
      throw new CommandError(
        `Import ${id} has no talk ${position}. To see its talks:\n` +
          `  talkshelf imports show ${id} --all`,
      )
    const [earlier] = await findDecisions(pool, id, [position])
    const { record } = earlier?.decision ?? {}
    const decision =
      record !== undefined && chosen.same === undefined ? { ...chosen, same: true, record } : chosen
    if (record === undefined && decision.record === undefined)
      assertDecidable(talk, decision, options.keep === true)
    await retryUnavailable(() => decideTalk(pool, id, position, decision)).catch(throwReadable)
    const title = escapeLine(talk.title ?? 'untitled talk')
    await print(`Decided #${position} (${title}): ${formatDecision(decision)}.`)
    if (decision.same) {
      const job = await readImport(pool, id)
      await print(`It changes these fields:`)
      await printTalks(pool, job, { after: position - 1, limit: 1 }, false)
    }
    await print(`When everything is decided:\n  talkshelf imports apply ${id}`)
  })
}

/** Throws the error of an invalid decision as a message for the user. */
function throwReadable(error: unknown): never {
  const errors = error instanceof Problem ? (error.more.errors as FieldError[] | undefined) : []
  const [first] = errors ?? []
  if (first) throw new CommandError(`The ${first.pointer.slice(1)} ${first.detail}.`)
  throw error
}

/** Throws if the talk needs no decision, or a decision of another kind. */
function assertDecidable(talk: ImportedTalk, decision: Decision, isKeep: boolean): void {
  const { position, verdict } = talk
  if (verdict === 'new' && decision.same)
    throw new CommandError(
      `Talk ${position} resembles no record. Choose the record that it is: --same RECORD`,
      2,
    )
  if (verdict !== 'conflict')
    throw new CommandError(
      `Talk ${position} has no conflict to decide: it is ${verdict}. To leave it out of the import, ` +
        'remove it from the file.',
    )
  const isQuestion = talk.notes.some(({ kind }) => kind === 'question')
  if (isQuestion && decision.same === undefined && !isKeep)
    throw new CommandError(
      `Talk ${position} resembles an existing record. Is it the same? Use --same or --not-same.`,
      2,
    )
  if (!isQuestion && decision.same !== undefined)
    throw new CommandError(
      `Talk ${position} already matches a record. Choose the fields to take: --take FIELD,...`,
      2,
    )
}

function parseDecision({ take, keep, same, notSame }: DecideCommandOptions): Decision {
  const hasChoice = (take ?? same ?? notSame) !== undefined
  if (hasChoice === Boolean(keep))
    throw new CommandError(
      'Choose --take FIELD,... or --keep; if the talk resembles a record, --same or --not-same.',
      2,
    )
  assertWritable(take ?? [])
  return {
    ...(take && { take }),
    ...(same && { same: true }),
    ...(typeof same === 'number' && { record: same }),
    ...(notSame && { same: false }),
  }
}

function assertWritable(fields: readonly string[]): void {
  const writable = videoFields.filter((field) => !readOnlyFields.some((other) => other === field))
  const unknown = fields.filter((field) => !writable.some((known) => known === field))
  if (unknown.length > 0)
    throw new CommandError(
      [
        `Unknown field: ${unknown.map(escapeLine).join(', ')}.`,
        `The fields are: ${writable.join(', ')}.`,
      ].join('\n'),
      2,
    )
}
