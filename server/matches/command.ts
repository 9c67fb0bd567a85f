import {
  importFormats,
  isMatchQuestion,
  type Match,
  type MatchDecision,
  type MatchedTalk,
  Problem,
} from '@talkshelf/contract'
import { type Command, Option } from 'commander'
import { type CommandContext, type JsonOption, jsonOption, withResult } from '../command.ts'
import { type OpenedInput, readImport } from '../imports/imports.ts'
import type { Origin } from '../platform/actor.ts'
import type { Pool } from '../platform/db/pool.ts'
import { ask, isInteractive, outputStyle, print } from '../platform/terminal.ts'
import { escapeLine } from '../platform/terminal-escape.ts'
import { type Matches, openMatches } from './matches.ts'

// `talkshelf match`: pairs a schedule with a playlist, asks about what is not sure, and plans the
// import.

interface MatchOptions extends JsonOption {
  readonly event?: string
  readonly language?: string
  readonly scheduleFormat?: string
  readonly playlistFormat?: string
  readonly scheduleSource?: string
  readonly playlistSource?: string
  readonly dryRun?: boolean
  readonly apply?: boolean
  readonly yes?: boolean
}

/** What the command uses of the one of imports. */
export interface ImportSteps {
  openSource(path: string, context: CommandContext): Promise<OpenedInput>
  finishPlan(
    pool: Pool,
    id: number,
    options: Pick<MatchOptions, 'dryRun' | 'apply' | 'yes'>,
    context: CommandContext,
  ): Promise<void>
  commandOrigin(): Origin
  withReadableErrors<A extends unknown[]>(
    action: (...args: A) => Promise<void>,
  ): (...args: A) => Promise<void>
}

const help = `
Examples:
  talkshelf match schedule.xml playlist.json        ask about pairs that are not sure
  talkshelf match https://example.org/schedule.json playlist.json --dry-run
  yt-dlp --flat-playlist -J URL > playlist.json     get the playlist of an event

Pairs that are sure are taken without asking. Without a terminal, the others are left open: decide
about them on the page of the match, or repeat the command. Decisions are kept: a later match of the
same sources asks only about what is new or has another title.
Talks without a recording become drafts. Recordings without a talk are left out.
The result is an import, with the same exit codes as 'talkshelf import'.`

/** Adds the command to the program. */
export function matchCommand(program: Command, context: CommandContext, steps: ImportSteps): void {
  const format = (side: string) =>
    new Option(`--${side}-format <format>`, `format of the ${side}; detected by default`).choices(
      importFormats,
    )
  program
    .command('match')
    .description('match a schedule with a playlist: pair talks and recordings, then import them')
    .argument('<schedule>', 'the talks: a file or URL, such as the schedule.xml of a conference')
    .argument('<playlist>', 'the recordings: a file or URL, such as the JSON of yt-dlp')
    .option('--event <title>', 'title of the event; default: that of the schedule')
    .option('--language <language>', 'language of talks that have none in the schedule')
    .addOption(format('schedule'))
    .addOption(format('playlist'))
    .option('--schedule-source <name>', 'source of the keys of the talks')
    .option('--playlist-source <name>', 'source of the keys of the recordings')
    .addOption(
      new Option('--dry-run', 'show the plan and do not ask; it can be applied later').conflicts([
        'apply',
        'yes',
      ]),
    )
    .option('--apply', 'apply without asking, unless a decision is needed')
    .option('--yes', 'apply without asking; in conflicts, edits made here are kept')
    .addOption(jsonOption())
    .addHelpText('after', help)
    .action(
      steps.withReadableErrors((schedule: string, playlist: string, options: MatchOptions) =>
        runMatch(schedule, playlist, options, context, steps),
      ),
    )
}

async function runMatch(
  schedule: string,
  playlist: string,
  options: MatchOptions,
  context: CommandContext,
  { openSource, finishPlan, commandOrigin }: ImportSteps,
): Promise<void> {
  const files = {
    schedule: {
      opened: await openSource(schedule, context),
      format: options.scheduleFormat,
      source: options.scheduleSource,
    },
    playlist: {
      opened: await openSource(playlist, context),
      format: options.playlistFormat,
      source: options.playlistSource,
    },
    category: options.event,
    language: options.language,
  }
  await context.withPool(async (pool) => {
    const matches = openMatches(pool)
    const origin = commandOrigin()
    const id = await matches.create(files, origin)
    let planned: number | undefined
    const readResult = async () => ({
      match: await matches.read(id),
      import: planned === undefined ? null : await readImport(pool, planned),
    })
    await withResult(options, readResult, async () => {
      await print(formatSummary(await matches.read(id)))
      if (isInteractive() && !options.dryRun && !options.yes)
        await askQuestions(matches, id, origin)
      const { questions } = await matches.read(id)
      if (questions > 0)
        await print(
          `${questions} ${questions === 1 ? 'talk has' : 'talks have'} an open question and no ` +
            `recording in this plan. To decide: /desk/match/${id}, or repeat the command`,
        )
      planned = await matches.plan(id, origin)
      await finishPlan(pool, planned, options, context)
    })
  })
}

function formatSummary(match: Match): string {
  const { id, event, talks, recordings, pattern, questions, left_out_count: leftOut } = match
  const count = (band: string) => talks.filter((talk) => talk.band === band).length
  const unpaired = recordings.filter(({ talk }) => talk === null).length - questions
  return [
    `Match ${id}: ${escapeLine(event)}, ${talks.length} talks, ${recordings.length} recordings`,
    `  ${count('sure')} pairs are sure, ${questions} to decide`,
    `  talks without a recording: ${count('none')}, recordings without a talk: ${Math.max(unpaired, 0)}`,
    ...(leftOut === 0 ? [] : [`  left out of the files: ${leftOut}`, ...formatLeftOut(match)]),
    ...(pattern === null ? [] : [`  Titles of the playlist are read as ${escapeLine(pattern)}`]),
  ].join('\n')
}

/** The first entries that are left out, with the reason. */
function formatLeftOut({ left_out: leftOut }: Match): string[] {
  return leftOut
    .slice(0, 5)
    .map(({ file, place, reason }) => `    ${file}, ${escapeLine(place)}: ${escapeLine(reason)}`)
}

/** Asks about each pair that is not sure, until all are decided or skipped. */
async function askQuestions(matches: Matches, id: number, origin: Origin): Promise<void> {
  const skipped = new Set<string>()
  for (;;) {
    const match = await matches.read(id)
    const talk = match.talks.find((row) => isMatchQuestion(row) && !skipped.has(row.key))
    if (!talk) return
    await print(formatQuestion(talk, match))
    const numbers = talk.proposals.length > 1 ? `1-${talk.proposals.length}` : '1'
    const answer = await ask(
      `Which recording? [${numbers}, n: none of these, s: skip, u: undo, q: end] `,
    )
    if (answer === undefined || answer.trim() === 'q') return
    if (answer.trim() === 'u') await undo(matches, id)
    else if (answer.trim() === 's') skipped.add(talk.key)
    else {
      const decisions = decisionsOf(answer.trim(), talk)
      if (decisions.length > 0) await matches.decide(id, decisions, origin)
      else await print('Type one of the letters or numbers.')
    }
  }
}

async function undo(matches: Matches, id: number): Promise<void> {
  try {
    await matches.undo(id)
  } catch (error) {
    if (!(error instanceof Problem && error.problem === 'wrong-state')) throw error
    await print('There is no decision to undo.')
  }
}

function decisionsOf(answer: string, { key: talk, proposals }: MatchedTalk): MatchDecision[] {
  if (answer === 'n') return proposals.map(({ recording }) => ({ verdict: 'not', talk, recording }))
  const chosen = proposals[Number(answer === '' ? 1 : answer) - 1]
  return chosen ? [{ verdict: 'pair', talk, recording: chosen.recording }] : []
}

const reasonTexts: Readonly<Record<string, string>> = {
  'other-year': 'another year',
  'other-part': 'another part number',
  'generic-title': 'a title that several talks can have',
  'other-speaker': 'another speaker',
  'several-talks': 'several talks',
  'name-only': 'only the name is the same',
}

function formatQuestion(talk: MatchedTalk, { recordings }: Match): string {
  const { paint } = outputStyle()
  const titleOf = new Map(recordings.map(({ key, title }) => [key, title]))
  const speakers = talk.speakers.join(', ')
  return [
    '',
    paint('bold', escapeLine(talk.title)),
    `  ${escapeLine([speakers, talk.start ?? '', talk.room].filter(Boolean).join(' · '))}`,
    ...talk.proposals.map(({ recording, against }, index) => {
      const names = against.map((reason) => reasonTexts[reason] ?? reason)
      const reasons = names.length > 0 ? `  (${names.join(', ')})` : ''
      return `  ${index + 1}  ${escapeLine(titleOf.get(recording) ?? recording)}${reasons}`
    }),
  ].join('\n')
}
