// Which tables a name change searches, and which of them it changes. Every table of the database is
// searched, so that a new one cannot be forgotten. Only those with a rule are changed: what is found
// in others, and in columns of settings, is listed for an administrator.

export interface SearchedTable {
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
}

export interface TableRule {
  /** An SQL expression: what the row is about, such as `video:17`. */
  readonly subject?: string
  /** The id with which the feature that owns the row changes it. */
  readonly id?: string
  /** An SQL condition: whether the row is not changed by the feature but directly. */
  readonly isDirect?: string
  /** An SQL condition for the rows that are searched. */
  readonly where?: string
  /** The only columns that are searched. */
  readonly columns?: readonly string[]
  /** SQL expressions of texts in other tables that are changed with the row, by their name. */
  readonly others?: Readonly<Record<string, string>>
  /** Columns with the fields of a form, URL-encoded. */
  readonly forms?: readonly string[]
  /** Columns with names of files or URLs that are no links. */
  readonly labels?: readonly string[]
  /** The longest text of a column, if a longer one is refused. */
  readonly maxLengths?: Readonly<Record<string, number>>
  /** Columns that identify accounts, or are settings. They are searched, but never changed. */
  readonly settings?: readonly string[]
  /** Whether only administrators read the table: then a plan has no excerpts of it. */
  readonly isPrivate?: true
}

const sourcesOfMatches = ['talk_source', 'recording_source']
const aboutVideo = { subject: "'video:' || video_id" }
const entity = (kind: string): TableRule => ({
  subject: `'${kind}:' || id`,
  id: 'id',
  isDirect: 'merged_into is not null',
  others: {
    aliases: `(select jsonb_agg(entity_name.name) from entity_name
               where kind = '${kind}' and entity_id = ${kind}.id
                 and entity_name.name <> ${kind}.${kind === 'category' ? 'title' : 'name'})`,
    old_slugs: `(select jsonb_agg(entity_slug.slug) from entity_slug
                 where kind = '${kind}' and entity_id = ${kind}.id
                   and entity_slug.slug <> ${kind}.slug)`,
  },
})

/** The tables that are changed, in this order; the history is last. */
export const tableRules: Readonly<Record<string, TableRule>> = {
  // Changed by the write path, with a new revision. Those that were merged or taken down are
  // shown to no reader: their rows are changed directly.
  speaker: entity('speaker'),
  tag: entity('tag'),
  category: entity('category'),
  video: { subject: "'video:' || id", id: 'id', isDirect: 'taken_down is not null' },
  video_facts: { subject: "'facts:' || id", id: 'id', isDirect: 'false' },
  synonym: { subject: "'synonyms:0'", id: '0', isDirect: 'false', columns: ['term'] },
  // The bodies of other records are written with the record.
  video_body: {
    subject: "'video:' || id",
    id: 'id',
    isDirect: 'false',
    columns: ['taken_down'],
    where: 'taken_down is not null',
  },
  import: { labels: ['name', 'source'], settings: ['format'] },
  import_row: aboutVideo,
  import_entity: {},
  source_record: { ...aboutVideo, labels: ['source'] },
  match: { labels: sourcesOfMatches },
  match_decision: {
    labels: [...sourcesOfMatches, 'talk_key', 'recording_key'],
    // Hashes of titles change with the titles.
    settings: ['verdict', 'status', 'talk_title', 'recording_title'],
  },
  match_pattern: { labels: sourcesOfMatches },
  match_item: {},
  followed_source: { settings: ['url', 'host', 'etag', 'last_modified'] },
  working_copy: { ...aboutVideo, forms: ['form'] },
  suggestion: {
    ...aboutVideo,
    maxLengths: { comment: 2000, name: 100, reason: 500, reply: 1000 },
  },
  speaker_request: { maxLengths: { comment: 2000 } },
  speaker_link: {},
  former_name: {},
  rename_job: {},
  scheduled_publication: {},
  // Sources that no talk has any more stay: a talk whose URL changes has another one.
  source: { settings: ['host', 'operator', 'owner'] },
  replacement: { ...aboutVideo, settings: ['finder'] },
  uploaded_picture: { settings: ['hash'] },
  // The name of a person is only shown; people sign in with their address, identity or passkey.
  person: { settings: ['mail'], isPrivate: true },
  audit_event: { settings: ['kind'], isPrivate: true },
  webhook: { settings: ['url'], isPrivate: true },
  webhook_delivery: { settings: ['message', 'outcome'], isPrivate: true },
  change: { subject: "subject || ':' || subject_id" },
}

/** Tables that are only searched, as any other table without a rule: accounts and settings. */
export const settingTables: readonly string[] = [
  'edge_purge',
  'idempotency_key',
  'link_host',
  'maintenance',
  'mirror',
  'openid_identity',
  'passkey',
  'session',
  'token',
]

/** Tables that are not searched. */
export const derivedTables: ReadonlySet<string> = new Set([
  // Written with the entities, whose names and slugs they are.
  'entity_name',
  'entity_slug',
  // Single words, written with the records and removed by maintenance.
  'search_word',
  'search_lexeme',
  // The change itself, which is emptied at its end.
  'name_change',
  'name_change_place',
  // Ids, hashes and fixed words.
  'duplicate_candidate',
  'feed_entry',
  'feed_head',
  'ids_before_merge',
  'mirrored',
  'one_time_token',
  'talk_count',
  // Filled by migrations only.
  'language',
  'schema_version',
  'trigger_file',
])

/** Keys of JSON whose values are not texts of people. */
export const technicalKeys: ReadonlySet<string> = new Set(['kind', 'state', 'code', 'op', 'field'])

/** Tells whether a column identifies an account, or is a setting: it is never changed. */
export function isSetting(table: string, column: string): boolean {
  const rule = tableRules[table]
  return !rule || (rule.settings ?? []).includes(column)
}

/** Sorts tables in the order in which they are searched. */
export function inSearchOrder(tables: readonly SearchedTable[]): SearchedTable[] {
  const order = Object.keys(tableRules)
  const rank = ({ name }: SearchedTable) => (order.includes(name) ? order.indexOf(name) : Infinity)
  return tables
    .filter(({ name }) => !derivedTables.has(name))
    .map((table) => {
      const only = tableRules[table.name]?.columns
      const columns = table.columns.filter(({ name }) => !only || only.includes(name))
      return { ...table, columns }
    })
    .sort((a, b) => compare(rank(a), rank(b)) || compare(a.name, b.name))
}

const compare = <T extends number | string>(a: T, b: T) => Number(a > b) - Number(a < b)
