import { type Import, type WarningCode, warningCodes } from '@talkshelf/contract'
import type { OutputStyle } from '../../platform/terminal.ts'
import { escapeLine } from '../../platform/terminal-escape.ts'
import { formatCount, formatNumber } from './format.ts'
import { truncate } from './values.ts'

// Formats the summary of a plan: what it creates, and its warnings. No I/O.

/** Formats the names that an import creates: events, people and tags. Empty if there are none. */
export function formatAdditions({ creates }: Import, { paint, width }: OutputStyle): string {
  const { categories, speakers, tags } = creates
  const lists = [
    ['New events', categories],
    ['New people', speakers],
    ['New tags', tags],
  ] as const
  const lines = lists.flatMap(([label, { count, names }]) => {
    if (count === 0) return []
    const shown = wrapNames(names.map(escapeLine), count, Math.max(40, width - 4))
    return [
      `  ${label}: ${formatNumber(count)}`,
      ...shown.map((line) => `    ${paint('dim', line)}`),
    ]
  })
  return lines.length === 0 ? '' : `${[paint('bold', 'Will be created'), ...lines].join('\n')}\n`
}

const maxNameLines = 8

/** Joins names to lines, with the number of those that do not fit. */
function wrapNames(names: readonly string[], count: number, width: number): string[] {
  const lines: string[] = []
  let shown = 0
  for (const name of names) {
    const last = lines.at(-1)
    const text = truncate(name, width - 2)
    if (last !== undefined && last.length + text.length + 3 <= width)
      lines[lines.length - 1] = `${last}; ${text}`
    else if (lines.length < maxNameLines) lines.push(text)
    else break
    shown++
  }
  return shown < count ? [...lines, `and ${formatNumber(count - shown)} more`] : lines
}

/** Formats the number of empty cells that are ignored, and how to clear a field. */
export function formatIgnoredCells(
  { ignored_cells: count }: Import,
  { paint }: OutputStyle,
): string {
  if (count === 0) return ''
  const [verb, noun] = count === 1 ? ['is', 'value'] : ['are', 'values']
  return [
    paint(
      'bold',
      `${formatCount(count, 'empty cell')} ${verb} ignored: the ${noun} here will stay`,
    ),
    '  To clear a field, empty its cell in a table that you exported from here, with its columns',
    '  id and updated: talkshelf export --format csv --out FILE\n',
  ].join('\n')
}

const warningLabels: Record<WarningCode, string> = {
  'missing-date': 'without a date',
  'guessed-date': 'dated by the year in a title only',
  'future-date': 'dated in the future',
  'old-date': 'dated before 1900',
  'long-duration': 'longer than six hours',
  'short-duration': 'shorter than a minute',
  'several-names': 'with several people in one name',
  'similar-name': 'with a person whose name is spelled differently elsewhere',
}

/** Formats the number of warnings of each kind. Empty if there are none. */
export function formatWarnings({ id, warnings }: Import, { paint }: OutputStyle): string {
  const lines = warningCodes.flatMap((code) => {
    const count = warnings[code] ?? 0
    return count === 0 ? [] : [`  ${formatCount(count, 'talk')} ${warningLabels[code]}`]
  })
  return lines.length === 0
    ? ''
    : [
        paint('yellow', 'Warnings: these values will be imported as they are'),
        ...lines,
        `  To see them: talkshelf imports show ${id} --warnings\n`,
      ].join('\n')
}
