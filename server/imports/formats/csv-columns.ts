import { readOnlyFields, videoFields } from '@talkshelf/contract'

// The columns of a table, and other names that people give them. No I/O.

const readOnly: readonly string[] = readOnlyFields
/** The fields of a talk that people fill in most often, the first columns of a table. */
export const mainFields = [
  'title',
  'category',
  'language',
  'speakers',
  'tags',
  'recorded',
  'duration',
  'source_url',
  'state',
] as const

/** All columns that can be imported, the most common first. */
export const columns: readonly string[] = [
  ...new Set([
    'key',
    'id',
    ...mainFields,
    ...videoFields.filter((field) => !readOnly.includes(field)),
    'related',
    'media',
  ]),
]

/** The column that says why a row was refused. It is ignored when the row is imported again. */
export const refusedColumn = 'refused because'

const aliases: Readonly<Record<string, readonly string[]>> = {
  title: [
    ...['talk', 'talk title', 'session', 'session title'],
    ...['titel', 'vortrag', 'vortragstitel', 'titre', 'título', 'titulo', 'charla'],
  ],
  speakers: [
    ...['speaker', 'speaker name', 'speaker names', 'presenter', 'presenters', 'presented by'],
    ...['author', 'authors', 'referent', 'referentin', 'referenten', 'referent in', 'sprecher'],
    ...['sprecherin', 'vortragende', 'intervenant', 'intervenants', 'ponente', 'ponentes'],
  ],
  category: ['event', 'conference', 'meetup', 'veranstaltung', 'konferenz', 'evento', 'conférence'],
  recorded: ['date', 'day', 'recorded on', 'recording date', 'talk date', 'datum', 'fecha'],
  duration: ['length', 'runtime', 'dauer', 'länge', 'durée', 'duración', 'duracion'],
  source_url: [
    ...['url', 'video', 'video url', 'video link', 'link', 'youtube', 'youtube url'],
    ...['youtube link', 'recording', 'aufzeichnung', 'vídeo', 'vidéo'],
  ],
  description: ['abstract', 'beschreibung', 'zusammenfassung', 'résumé', 'descripción'],
  tags: ['tag', 'topics', 'keywords'],
  language: ['lang', 'sprache', 'langue', 'idioma'],
  copyright_text: ['license', 'licence'],
  thumbnail_url: ['thumbnail', 'image'],
  related: ['slides', 'links'],
}

const columnByAlias = new Map(
  Object.entries(aliases).flatMap(([column, names]) =>
    names.map((name): [string, string] => [name, column]),
  ),
)

/** Finds the column that a header means. */
export function findColumn(header: string): string | undefined {
  if (columns.includes(header)) return header
  const plain = header.replaceAll('(s)', 's')
  // "Duration (min)", "Speaker:" and "Referent*in" have more than the name.
  return [plain, plain.replace(/\([^)]*\)/, '')]
    .map((name) => name.replaceAll(/[^\p{L}\p{M}\d]+/gu, ' ').trim())
    .map((name) => columnByAlias.get(name) ?? columns.find((column) => column === name))
    .find((column) => column !== undefined)
}

/** Returns whether a header is ignored without a note: read-only fields of an export. */
export function isIgnored(header: string): boolean {
  return readOnly.includes(header) || header === refusedColumn
}

/** Finds the column whose name, or alias, is most similar to a header. */
export function suggestColumn(header: string): string | undefined {
  if (header.length > 30) return undefined
  const known = [...columns.map((column) => [column, column] as const), ...columnByAlias].map(
    ([name, column]) => ({ column, distance: editDistance(header, name) }),
  )
  const best = known.reduce((a, b) => (b.distance < a.distance ? b : a))
  return best.distance <= Math.min(2, Math.floor(header.length / 3)) ? best.column : undefined
}

/** Counts the letters to change, add or remove to get from one word to another (Levenshtein). */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++)
      current[j] = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      )
    previous = current
  }
  return previous[b.length] ?? 0
}
