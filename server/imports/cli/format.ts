import { type Import, type ImportedTalk, importVerdicts } from '@talkshelf/contract'
import type { Decision } from '../engine/queries.ts'
import { escapeLine, formatValue, shortenAroundDifference, truncate } from './terminal-escape.ts'

// What the command prints about imports and their talks. No I/O.

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'magenta'
export type Paint = (style: Style, text: string) => string

export interface OutputStyle {
  readonly paint: Paint
  /** Of the terminal, in characters. */
  readonly width: number
}

type Verdict = (typeof importVerdicts)[number]
type Note = ImportedTalk['notes'][number]

/** An import by itself: what it is, how far it is, and its talks in numbers. */
export function formatImport(it: Import, { paint }: OutputStyle): string {
  const facts: [string, string][] = [
    ['file', it.name],
    ['format', it.format || 'not known'],
    ['source', it.source || 'not known'],
    ['begun', `${momentShown(it.created)} by ${it.by}`],
    ['state', formatState(it)],
    ...(it.problem === null ? [] : [['problem', it.problem] as [string, string]]),
  ]
  const head = facts.map(([name, value]) => `  ${paint('dim', name.padEnd(9))}${escapeLine(value)}`)
  const total = countTalks(it)
  return [
    paint('bold', `Import ${it.id}`),
    ...head,
    '',
    ...(total === 0 ? ['  No talks.'] : tableShown(it, paint)),
    '',
  ].join('\n')
}

function tableShown(it: Import, paint: Paint): string[] {
  const { planned, outcome, undone } = it
  const width = Math.max(
    ...importVerdicts.map((verdict) => formatNumber(planned[verdict] ?? 0).length),
  )
  const rows = importVerdicts.map((verdict) => {
    const [style, about] = looks[verdict]
    const count = planned[verdict] ?? 0
    const row = `${verdict.padEnd(10)} ${formatNumber(count).padStart(width)}`
    return `  ${count === 0 ? paint('dim', row) : paint(style, row) + (isDecidable(it) ? `  ${paint('dim', about)}` : '')}`
  })
  const became: [string, string][] = [
    ...(sum(outcome) === 0 ? [] : [['applied', formatOutcome(outcome)] as [string, string]]),
    ...(sum(undone) === 0 ? [] : [['undone', undoneShown(undone)] as [string, string]]),
  ]
  return [...rows, ...became.map(([name, text]) => `  ${paint('dim', name.padEnd(9))} ${text}`)]
}

function undoneShown({ undone = 0, touched = 0 }: Import['undone']): string {
  return `${formatNumber(undone)} taken back${touched > 0 ? `, ${formatNumber(touched)} not, because somebody touched them in between` : ''}`
}

/** Whether something can still be decided about it. */
export const isDecidable = ({ state }: Import) =>
  state === 'reading' || state === 'planned' || state === 'stopped'

const looks: Record<Verdict, [style: Style, about: string, mark: string]> = {
  new: ['green', 'become records', '+'],
  changed: ['yellow', 'change their records', '~'],
  unchanged: ['dim', 'are as the file says', '='],
  conflict: [
    'magenta',
    'need a look: what people wrote here stays unless you decide otherwise',
    '!',
  ],
  refused: ['red', 'are left out, for the reasons below', 'x'],
}

const heads: Record<Verdict, string> = {
  conflict: 'In conflict',
  refused: 'Refused',
  changed: 'Changed',
  new: 'New',
  unchanged: 'Unchanged',
}

export function formatHeading(
  verdict: Verdict,
  shown: number,
  count: number,
  { paint }: OutputStyle,
): string {
  return paint(
    'bold',
    shown < count ? `${heads[verdict]}: ${shown} of ${formatNumber(count)}` : heads[verdict],
  )
}

/**
 * In this order people want to see them, and of each so many that all together are not more than
 * `most`.
 */
export function shareByVerdict(
  planned: Import['planned'],
  limit: number,
): { verdict: Verdict; share: number }[] {
  const wanted = (['conflict', 'refused', 'changed', 'new'] as const).map((verdict) => {
    const count = planned[verdict] ?? 0
    // Of what is new there is little to see but titles.
    return { verdict, count: verdict === 'new' ? Math.min(count, Math.floor(limit / 3)) : count }
  })
  // Those of which there are few first: what they leave is for the others.
  const given = new Map<Verdict, number>()
  let left = limit
  for (const [index, { verdict, count }] of wanted
    .toSorted((a, b) => a.count - b.count)
    .entries()) {
    const share = Math.min(count, Math.floor(left / (wanted.length - index)))
    given.set(verdict, share)
    left -= share
  }
  return wanted.flatMap(({ verdict }) =>
    (given.get(verdict) ?? 0) > 0 ? [{ verdict, share: given.get(verdict) as number }] : [],
  )
}

export interface TalkOutputStyle extends OutputStyle {
  readonly importId: number
  /** Whether it can still be decided. */
  readonly isOpen: boolean
  readonly hasNotes: boolean
}

/** One talk: what it is, what differs, and what to do where something is to be decided. */
export function formatTalk(
  talk: ImportedTalk,
  decision: Decision | null,
  look: TalkOutputStyle,
): string {
  const { paint, width } = look
  const [style, , mark] = looks[talk.verdict]
  const record = talk.video === null ? '' : `record ${talk.video}`
  const where = [`#${talk.position}`, escapeLine(talk.place), record, becameOf(talk)]
  // Of a talk that says nothing new, no more is kept than which record it is.
  const title = truncate(
    escapeLine(talk.title ?? (record || '(no title)')),
    Math.max(40, width - 20),
  )
  const head = `  ${paint(style, mark)} ${title}  ${paint('dim', where.filter((it) => it !== '').join(', '))}`
  return [
    head,
    ...changesShown(talk.changes, look),
    ...talk.notes
      .filter(({ kind }) => look.hasNotes || kind === 'refused' || kind === 'question')
      .map((note) => noteShown(note, paint)),
    ...(look.isOpen && talk.verdict === 'conflict' ? choiceShown(talk, decision, look) : []),
  ].join('\n')
}

const indent = '      '

function changesShown(changes: ImportedTalk['changes'], { paint, width }: OutputStyle): string[] {
  const names = Object.keys(changes)
  const column = Math.max(0, ...names.map((name) => name.length)) + 2
  const room = Math.max(40, width - indent.length - column - 6)
  return Object.entries(changes).flatMap(([field, change]) => {
    const name = `${indent}${escapeLine(field).padEnd(column)}`
    const under = ' '.repeat(name.length)
    if (field === 'facts') return [`${name}${factsChanged(Number(change.old), Number(change.new))}`]
    const [old, now] = shortenAroundDifference(
      formatValue(field, change.old),
      formatValue(field, change.new),
      room,
    ).map((text) => text || paint('dim', '(nothing)'))
    if (change.conflict)
      return [`${name}${paint('green', 'mine')}  ${old}`, `${under}${paint('red', 'file')}  ${now}`]
    const both = `${old} -> ${now}`
    return both.length <= room
      ? [`${name}${both}`]
      : [`${name}${paint('red', '-')} ${old}`, `${under}${paint('green', '+')} ${now}`]
  })
}

function factsChanged(old: number, now: number): string {
  return old === now
    ? `${formatCount(now, 'fact')}, not the same ones as before`
    : `${formatCount(old, 'fact')} -> ${now}`
}

function noteShown({ kind, field, detail }: Note, paint: Paint): string {
  const style = kind === 'refused' ? 'red' : kind === 'question' ? 'magenta' : 'dim'
  const text = escapeLine(field === '' || kind === 'question' ? detail : `${field} ${detail}`)
  return `${indent}${paint(style, kind === 'refused' ? text : `${kind}: ${text}`)}`
}

function choiceShown(
  talk: ImportedTalk,
  decision: Decision | null,
  { importId, paint }: TalkOutputStyle,
): string[] {
  const command = `talkshelf imports decide ${importId} ${talk.position}`
  const fields = Object.entries(talk.changes).flatMap(([field, { conflict }]) =>
    conflict ? [escapeLine(field)] : [],
  )
  const isQuestion = talk.notes.some(({ kind }) => kind === 'question')
  const line = (text: string) => `${indent}${paint('dim', text)}`
  if (decision !== null) return [line(`decided: ${formatDecision(decision)}`)]
  if (isQuestion)
    return [
      line('By default it is left out. If it is that record, or if it is another talk:'),
      ...['--same', '--not-same'].map((choice) => line(`  ${command} ${choice}`)),
    ]
  return [
    line(`By default mine stays: ${fields.join(', ')}. To take the file's:`),
    line(`  ${command} --take ${fields.join(',')}`),
  ]
}

export function formatDecision({ take = [], same }: Decision): string {
  const words = [
    ...(same === undefined ? [] : [same ? 'it is that record' : 'it is another talk']),
    ...(take.length > 0 ? [`${take.map(escapeLine).join(', ')} as the file says`] : []),
  ]
  return words.join('; ') || 'it stays as it is here'
}

function becameOf({ verdict, outcome, undone }: ImportedTalk): string {
  const same = {
    new: 'created',
    changed: 'changed',
    unchanged: 'unchanged',
    conflict: 'kept',
    refused: 'refused',
  }[verdict]
  const became =
    outcome === null || (outcome === same && verdict !== 'conflict' && verdict !== 'new')
      ? ''
      : outcome
  return [became, undone === 'touched' ? 'touched since, not undone' : (undone ?? '')]
    .filter((it) => it !== '')
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

/** Adds the notes of a talk to those before it. */
export function collectNotes(groups: Map<string, NoteGroup>, { place, notes }: ImportedTalk): void {
  for (const { kind, field, detail } of notes) {
    if (kind === 'refused' || kind === 'question') continue
    const name = `${kind} ${field}`
    const group = groups.get(name) ?? { kind, field, count: 0, examples: [] }
    if (groups.size < maxGroups) groups.set(name, group)
    group.count++
    if (
      group.examples.length < maxExamples &&
      group.examples.every((other) => other.detail !== detail)
    )
      group.examples.push({ place, detail })
  }
}

/** `looked`: at how many talks, where not at all. */
export function formatNotes(
  groups: ReadonlyMap<string, NoteGroup>,
  looked: number | undefined,
  { paint, width }: OutputStyle,
): string {
  if (groups.size === 0) return ''
  const all = [...groups.values()].sort((a, b) =>
    a.kind === b.kind ? b.count - a.count : a.kind < b.kind ? -1 : 1,
  )
  const shown = all.slice(0, 15)
  const head = looked === undefined ? 'Notes' : `Notes on the first ${formatNumber(looked)} talks`
  const lines = shown.flatMap(({ kind, field, count, examples }) => [
    `  ${kind} ${escapeLine(field)}, ${formatNumber(count)} times`.replace(/, 1 times$/, ', once'),
    ...examples.map(
      ({ place, detail }) =>
        `${indent}${paint('dim', truncate(`${escapeLine(place)}: ${escapeLine(detail)}`, Math.max(40, width - 7)))}`,
    ),
  ])
  const more = all.length > shown.length ? [`  and ${all.length - shown.length} more`] : []
  return [paint('bold', head), ...lines, ...more, ''].join('\n')
}

/** What can be done with it now. */
export function formatNextSteps({ id, state, undone }: Import): string {
  const apply = `  talkshelf imports apply ${id}`
  const undo = `  talkshelf imports undo ${id}`
  const steps: Record<Import['state'], string> = {
    reading: 'Somebody is reading it. Without an end after ten minutes it is given up.',
    failed: 'Nothing was written. Mend what is wrong and import it once more.',
    planned: `Nothing is written yet. To apply it:\n${apply}`,
    applying: `It is being applied. To see it to its end, or to stop it:\n${apply}\n  talkshelf imports stop ${id}`,
    stopped: `It was stopped on the way. To go on, or to take back what was written:\n${apply}\n${undo}`,
    applied: `To take it back:\n${undo}`,
    undoing: `It is being taken back. To see it to its end:\n${undo}`,
    undone: `It was taken back.${(undone.touched ?? 0) > 0 ? ` What somebody had touched in between stayed:\n  talkshelf imports show ${id} --touched` : ''}`,
  }
  return steps[state]
}

export function formatImportList(imports: readonly Import[]): string {
  const head = ['ID', 'STATE', 'BEGUN', 'BY', 'FORMAT', 'TALKS', 'FILE']
  const rows = imports.map((it) => [
    String(it.id),
    it.state,
    momentShown(it.created),
    truncate(escapeLine(it.by), 20),
    it.format || '-',
    formatNumber(countTalks(it)),
    truncate(escapeLine(it.name), 60),
  ])
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  )
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export function formatOutcome(outcome: Import['outcome']): string {
  const words = { kept: 'kept as edited here' } as Record<string, string>
  const parts = Object.entries(outcome).flatMap(([name, count]) =>
    count > 0 ? [`${formatNumber(count)} ${words[name] ?? name}`] : [],
  )
  return parts.join(', ') || 'nothing'
}

export function formatState({ state, rows, done }: Import): string {
  const isHalf = (state === 'applying' || state === 'stopped') && rows > 0
  return isHalf ? `${state}, ${formatNumber(done)} of ${formatNumber(rows)} done` : state
}

export const countTalks = ({ planned }: Import) => sum(planned)

export const formatNumber = (number: number) => number.toLocaleString('en-US')

export const formatCount = (count: number, word: string) =>
  `${formatNumber(count)} ${word}${count === 1 ? '' : 's'}`

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0)

const momentShown = (created: string) => `${created.slice(0, 16).replace('T', ' ')} UTC`
