import { editFormat, type Import, type ImportedTalk, importVerdicts } from '@talkshelf/contract'
import { formatTimecode } from '@talkshelf/web'
import type { OutputStyle, Paint, Style } from '../../platform/terminal.ts'
import { escapeLine } from '../../platform/terminal-escape.ts'
import type { Decision } from '../engine/queries.ts'
import { formatValue, shortenAroundDifference, truncate } from './values.ts'

// Formats imports and their talks for the terminal. No I/O.

type Verdict = (typeof importVerdicts)[number]
type Note = ImportedTalk['notes'][number]

/** Formats the properties of an import, and the counts of its talks. */
export function formatImport(job: Import, { paint }: OutputStyle): string {
  const origin: [string, string][] = isEdit(job)
    ? [['edit', job.name]]
    : [
        ['file', job.name],
        ['format', job.format || 'unknown'],
        ['source', job.source || 'unknown'],
      ]
  const properties: [string, string][] = [
    ...origin,
    ['started', `${formatTimestamp(job.created)} by ${job.by}`],
    ['state', formatState(job)],
    ...(job.problem === null ? [] : [['problem', job.problem] as [string, string]]),
  ]
  return [
    paint('bold', isEdit(job) ? `Bulk edit, import ${job.id}` : `Import ${job.id}`),
    ...properties.map(([name, value]) => `  ${paint('dim', name.padEnd(9))}${escapeLine(value)}`),
    '',
    ...(countTalks(job) === 0 ? ['  No talks.'] : formatCounts(job, paint)),
    '',
  ].join('\n')
}

function formatCounts(job: Import, paint: Paint): string[] {
  const { planned, outcome, undone } = job
  const width = Math.max(
    ...importVerdicts.map((verdict) => formatNumber(planned[verdict] ?? 0).length),
  )
  const rows = importVerdicts.map((verdict) => {
    const [style, about] = verdictStyles[verdict]
    const count = planned[verdict] ?? 0
    const row = `${verdict.padEnd(10)} ${formatNumber(count).padStart(width)}`
    if (count === 0) return `  ${paint('dim', row)}`
    return `  ${paint(style, row)}${isDecidable(job) ? `  ${paint('dim', about)}` : ''}`
  })
  const results: [string, string][] = [
    ...(sum(outcome) === 0 ? [] : [['applied', formatOutcome(outcome)] as [string, string]]),
    ...(sum(undone) === 0 ? [] : [['undone', formatUndone(undone)] as [string, string]]),
  ]
  return [...rows, ...results.map(([name, text]) => `  ${paint('dim', name.padEnd(9))} ${text}`)]
}

function formatUndone({ undone = 0, touched = 0 }: Import['undone']): string {
  const reverted = `${formatNumber(undone)} reverted`
  return touched === 0
    ? reverted
    : `${reverted}, ${formatNumber(touched)} kept (changed since the import)`
}

/** Returns whether an import is a bulk edit, which has no file. */
export const isEdit = ({ format }: Pick<Import, 'format'>) => format === editFormat

/** Returns whether talks of the import can still be decided. */
export const isDecidable = ({ state }: Import) =>
  state === 'reading' || state === 'planned' || state === 'stopped'

const verdictStyles: Record<Verdict, [style: Style, about: string, mark: string]> = {
  new: ['green', 'will be created', '+'],
  changed: ['yellow', 'will be updated', '~'],
  unchanged: ['dim', 'already up to date', '='],
  conflict: ['magenta', 'need a decision; by default, the values here are kept', '!'],
  refused: ['red', 'will be skipped, for the reasons below', 'x'],
}

const headings: Record<Verdict, string> = {
  conflict: 'Conflicts',
  refused: 'Refused',
  changed: 'Changed',
  new: 'New',
  unchanged: 'Unchanged',
}

/** Formats the heading of a list of talks, with both counts if not all are shown. */
export function formatHeading(
  verdict: Verdict,
  shown: number,
  total: number,
  { paint }: OutputStyle,
): string {
  const heading = headings[verdict]
  return paint('bold', shown < total ? `${heading}: ${shown} of ${formatNumber(total)}` : heading)
}

/**
 * Chooses how many talks of each verdict to show, most important first, and at most `limit` in
 * total. A verdict with few talks leaves its share to the others.
 */
export function shareByVerdict(
  planned: Import['planned'],
  limit: number,
): { verdict: Verdict; share: number }[] {
  const verdicts = (['conflict', 'refused', 'changed', 'new'] as const).map((verdict) => {
    const count = planned[verdict] ?? 0
    return { verdict, count }
  })
  const shares = new Map<Verdict, number>()
  let remaining = limit
  const ascending = verdicts.toSorted((a, b) => a.count - b.count)
  for (const [index, { verdict, count }] of ascending.entries()) {
    const share = Math.min(count, Math.floor(remaining / (verdicts.length - index)))
    shares.set(verdict, share)
    remaining -= share
  }
  return verdicts
    .map(({ verdict }) => ({ verdict, share: shares.get(verdict) ?? 0 }))
    .filter(({ share }) => share > 0)
}

export interface TalkOutputStyle extends OutputStyle {
  readonly importId: number
  /** Whether the talk is one of a bulk edit, and not of a file. */
  readonly isEdit?: boolean
  /** Whether the talk can still be decided. */
  readonly isOpen: boolean
  /** Whether to print all notes, or only refusals and questions. */
  readonly hasAllNotes: boolean
}

/** Formats a talk with its changes and notes, and the commands to decide a conflict. */
export function formatTalk(
  talk: ImportedTalk,
  decision: Decision | null,
  style: TalkOutputStyle,
): string {
  const { paint, width } = style
  const [color, , mark] = verdictStyles[talk.verdict]
  const record = talk.video === null ? '' : `record ${talk.video}`
  // The place of a talk of a bulk edit is its record.
  const places = new Set([escapeLine(talk.place), record])
  const details = [`#${talk.position}`, ...places, formatResult(talk)]
    .filter((detail) => detail !== '')
    .join(', ')
  // Of an unchanged talk only the record is stored, not the title.
  const title = truncate(
    escapeLine(talk.title ?? (record || '(no title)')),
    Math.max(40, width - 20),
  )
  return [
    `  ${paint(color, mark)} ${title}  ${paint('dim', details)}`,
    ...(talk.verdict === 'new' ? formatNewTalk(talk, style) : []),
    ...formatChanges(talk.changes, style),
    ...talk.notes
      .filter(({ kind }) => style.hasAllNotes || importantNotes.has(kind))
      .map((note) => formatNote(note, paint)),
    ...(talk.verdict === 'conflict' || decision?.record !== undefined
      ? formatChoice(talk, decision, style)
      : []),
  ].join('\n')
}

const indent = '      '
/** Notes that are printed with a talk in any case. */
const importantNotes: ReadonlySet<Note['kind']> = new Set(['refused', 'question', 'warning'])

/** Formats what a new record will have: its speakers, day, length and event. */
function formatNewTalk(talk: ImportedTalk, { paint, width }: OutputStyle): string[] {
  const { speakers, recorded, duration, category } = talk
  const parts = [
    speakers.length === 0 ? 'no speakers' : speakers.map(escapeLine).join('; '),
    recorded === null ? 'no date' : escapeLine(recorded),
    duration === null ? 'no length' : formatTimecode(duration),
    ...(category === null ? [] : [escapeLine(category)]),
  ]
  return [`${indent}${paint('dim', truncate(parts.join(' · '), Math.max(40, width - 7)))}`]
}

function formatChanges(
  changes: ImportedTalk['changes'],
  { paint, width, isEdit = false }: TalkOutputStyle,
): string[] {
  // No URL is null or an empty text, which look the same.
  const visible = Object.entries(changes).filter(([field, change]) =>
    [change.old, change.new].some((value) => formatValue(field, value) !== ''),
  )
  const column = Math.max(0, ...visible.map(([field]) => field.length)) + 2
  const room = Math.max(40, width - indent.length - column - 6)
  return visible.flatMap(([field, change]) => {
    const label = `${indent}${escapeLine(field).padEnd(column)}`
    const blank = ' '.repeat(label.length)
    if (field === 'facts')
      return [`${label}${formatFactCounts(Number(change.old), Number(change.new))}`]
    const [before, after] = shortenAroundDifference(
      formatValue(field, change.old),
      formatValue(field, change.new),
      room,
    ).map((text) => text || paint('dim', '(empty)'))
    if (change.conflict)
      return [
        `${label}${paint('green', 'here')}  ${before}`,
        `${blank}${paint('red', isEdit ? 'edit' : 'file')}  ${after}`,
      ]
    const inline = `${before} -> ${after}`
    return inline.length <= room
      ? [`${label}${inline}`]
      : [`${label}${paint('red', '-')} ${before}`, `${blank}${paint('green', '+')} ${after}`]
  })
}

function formatFactCounts(before: number, after: number): string {
  return before === after
    ? `${formatCount(after, 'fact')}, changed`
    : `${formatCount(before, 'fact')} -> ${after}`
}

const noteStyles: Record<Note['kind'], Style> = {
  refused: 'red',
  question: 'magenta',
  warning: 'yellow',
  dropped: 'dim',
  guessed: 'dim',
  repaired: 'dim',
}

function formatNote({ kind, field, detail }: Note, paint: Paint): string {
  const text = escapeLine(field === '' || kind === 'question' ? detail : `${field} ${detail}`)
  return `${indent}${paint(noteStyles[kind], kind === 'refused' ? text : `${kind}: ${text}`)}`
}

function formatChoice(
  talk: ImportedTalk,
  decision: Decision | null,
  { importId, isOpen, paint }: TalkOutputStyle,
): string[] {
  const line = (text: string) => `${indent}${paint('dim', text)}`
  const decided = decision === null ? [] : [line(`decided: ${formatDecision(decision)}`)]
  if (!isOpen) return decided
  const command = `talkshelf imports decide ${importId} ${talk.position}`
  const conflicts = Object.entries(talk.changes).filter(
    ([field, { conflict }]) => conflict && !decision?.take?.includes(field),
  )
  const fieldsOf = (isImported: boolean) =>
    conflicts.flatMap(([field, { imported = false }]) =>
      imported === isImported ? [escapeLine(field)] : [],
    )
  const [edited, imported] = [fieldsOf(false), fieldsOf(true)]
  const isQuestion = talk.notes.some(({ kind }) => kind === 'question')
  if (decision !== null && (!decision.same || conflicts.length === 0)) return decided
  if (decision === null && isQuestion)
    return [
      line('Skipped by default. If it is the same talk, or another one:'),
      ...['--same', '--not-same'].map((choice) => line(`  ${command} ${choice}`)),
    ]
  const same = decision?.same && decision.record === undefined ? '--same ' : ''
  return [
    ...decided,
    ...(edited.length > 0
      ? [line(`By default the edit made here is kept: ${edited.join(', ')}.`)]
      : []),
    ...(imported.length > 0
      ? [line(`By default the value of an earlier import is kept: ${imported.join(', ')}.`)]
      : []),
    line("To take the file's:"),
    line(`  ${command} ${same}--take ${[...edited, ...imported].join(',')}`),
  ]
}

/** Formats a decision in a few words. */
export function formatDecision({ take = [], same, record }: Decision): string {
  const parts: string[] = []
  const sameTalk =
    record === undefined ? 'same talk as the record' : `same talk as record ${record}`
  if (same !== undefined) parts.push(same ? sameTalk : 'a new record')
  if (take.length > 0) parts.push(`take ${take.map(escapeLine).join(', ')} from the file`)
  return parts.join('; ') || 'keep as it is here'
}

/** Formats what became of a talk. Empty if that follows from its verdict. */
function formatResult({ verdict, outcome, undone }: ImportedTalk): string {
  const isExpected =
    (verdict === 'changed' || verdict === 'unchanged' || verdict === 'refused') &&
    outcome === verdict
  return [isExpected ? '' : outcome, undone === 'touched' ? 'not undone: changed since' : undone]
    .filter((part) => part)
    .join(', ')
}

/** Notes of one kind about one field. */
export interface NoteGroup {
  readonly kind: Note['kind']
  readonly field: string
  count: number
  readonly examples: { place: string; detail: string }[]
}

const maxGroups = 200
const maxExamples = 3

/** Adds the notes of a talk to the groups. */
export function collectNotes(groups: Map<string, NoteGroup>, { place, notes }: ImportedTalk): void {
  for (const { kind, field, detail } of notes) {
    if (importantNotes.has(kind)) continue
    const key = `${kind} ${field}`
    const group = groups.get(key) ?? { kind, field, count: 0, examples: [] }
    if (groups.size < maxGroups) groups.set(key, group)
    group.count++
    if (
      group.examples.length < maxExamples &&
      group.examples.every((other) => other.detail !== detail)
    )
      group.examples.push({ place, detail })
  }
}

const maxGroupsShown = 15

/** Formats the groups of notes. `firstTalks` is set if only that many talks were looked at. */
export function formatNotes(
  groups: ReadonlyMap<string, NoteGroup>,
  firstTalks: number | undefined,
  { paint, width }: OutputStyle,
): string {
  if (groups.size === 0) return ''
  const sorted = [...groups.values()].sort(compareGroups)
  const shown = sorted.slice(0, maxGroupsShown)
  const heading =
    firstTalks === undefined ? 'Notes' : `Notes on the first ${formatNumber(firstTalks)} talks`
  const formatExample = ({ place, detail }: NoteGroup['examples'][number]) => {
    const text = `${escapeLine(place)}: ${escapeLine(detail)}`
    return `${indent}${paint('dim', truncate(text, Math.max(40, width - 7)))}`
  }
  const lines = shown.flatMap(({ kind, field, count, examples }) => [
    `  ${kind} ${escapeLine(field)}, ${count === 1 ? 'once' : `${formatNumber(count)} times`}`,
    ...examples.map(formatExample),
  ])
  const hidden = sorted.length - shown.length
  return [
    paint('bold', heading),
    ...lines,
    ...(hidden > 0 ? [`  and ${hidden} more`] : []),
    '',
  ].join('\n')
}

function compareGroups(a: NoteGroup, b: NoteGroup): number {
  if (a.kind === b.kind) return b.count - a.count
  return a.kind < b.kind ? -1 : 1
}

/** Formats the commands that are possible in the state of an import. */
export function formatNextSteps(job: Import): string {
  const { id, state, undone } = job
  const [what, again] = isEdit(job)
    ? ['talks', 'plan the edit again']
    : ['file', 'import the file again']
  const apply = `  talkshelf imports apply ${id}`
  const undo = `  talkshelf imports undo ${id}`
  const stop = `  talkshelf imports stop ${id}`
  const showTouched = `  talkshelf imports show ${id} --touched`
  const touched =
    (undone.touched ?? 0) > 0
      ? ` Talks that changed since the import were kept:\n${showTouched}\n${formatKeptAdvice(job)}`
      : ''
  const steps: Record<Import['state'], string> = {
    reading: 'It is still being read. It fails if reading stalls for 10 minutes.',
    failed: `Nothing was written. Fix the problem and ${again}.`,
    planned: isAllRefused(job)
      ? `All talks are refused: nothing can be applied. Correct the ${what} and ${again}.`
      : `Nothing has been written yet. To apply it:\n${apply}`,
    applying: `It is being applied. To follow or stop it:\n${apply}\n${stop}`,
    stopped: `It was stopped. To continue, or to undo what was written:\n${apply}\n${undo}`,
    applied: `To undo it:\n${undo}`,
    undoing: `It is being undone. To follow it:\n${undo}`,
    undone: `It was undone.${touched}\nTo apply it again:\n  talkshelf imports redo ${id}`,
  }
  return steps[state]
}

/** Formats what to do about talks that an undo has kept. */
export const formatKeptAdvice = ({ id }: Pick<Import, 'id'>) =>
  [
    'If a later import changed them, undo that one first, then this one again:',
    `  talkshelf imports list\n  talkshelf imports undo ${id}`,
    'To hide a talk that was edited by hand, import a table with the columns id, title and state',
    '(draft).',
  ].join('\n')

/** Returns whether a plan has talks, and all of them are refused. */
export const isAllRefused = ({ planned }: Import) =>
  planned.refused !== undefined && planned.refused > 0 && planned.refused === sum(planned)

/** Formats imports as a table. */
export function formatImportList(imports: readonly Import[]): string {
  const header = ['ID', 'STATE', 'STARTED', 'BY', 'FORMAT', 'TALKS', 'FILE']
  const rows = imports.map((job) => [
    String(job.id),
    job.state,
    formatTimestamp(job.created),
    truncate(escapeLine(job.by), 20),
    job.format || '-',
    formatNumber(countTalks(job)),
    truncate(escapeLine(job.name), 60),
  ])
  const widths = header.map((_, column) =>
    Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0)),
  )
  const formatRow = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return [header, ...rows].map((row) => formatRow(row).trimEnd()).join('\n')
}

/** Formats the counts of outcomes in a sentence. */
export function formatOutcome(outcome: Import['outcome']): string {
  const labels: Record<string, string> = { kept: 'kept as they are here' }
  const parts = Object.entries(outcome).flatMap(([name, count]) =>
    count > 0 ? [`${formatNumber(count)} ${labels[name] ?? name}`] : [],
  )
  return parts.join(', ') || 'nothing'
}

/** Formats the state, with the progress while it is applied. */
export function formatState(job: Import): string {
  const { state, rows } = job
  const hasProgress = (state === 'applying' || state === 'stopped') && rows > 0
  const total = countTalks(job)
  return hasProgress
    ? `${state}, ${formatNumber(talksDone(job, total))} of ${formatCount(total, 'talk')} done`
    : state
}

/** Estimates how many talks are done: the rows of an import are talks, events, people and tags. */
export function talksDone({ rows, done }: Pick<Import, 'rows' | 'done'>, total: number): number {
  return rows === 0 ? 0 : Math.floor((total * done) / rows)
}

/** Counts the talks of an import, without its entities. */
export const countTalks = ({ planned }: Import) => sum(planned)

/** Formats a number with thousands separators. */
export const formatNumber = (number: number) => number.toLocaleString('en-US')

/** Formats a count with its noun, in the plural if needed. */
export const formatCount = (count: number, noun: string) =>
  `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0)

const formatTimestamp = (timestamp: string) => `${timestamp.slice(0, 16).replace('T', ' ')} UTC`
