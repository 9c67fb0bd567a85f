/**
 * A rule names what the database works out when a record is written: the columns of
 * 0009.do.quality.sql.
 */
export type Rule = {
  /** Its name in addresses. */
  readonly rule: string
  readonly title: string
  readonly advice: string
} & (RecordRule | DuplicateRule | SpellingRule)

/** Each record for itself. */
export interface RecordRule {
  readonly finds: 'records'
  readonly column:
    | 'no_speaker'
    | 'no_licence'
    | 'no_duration'
    | 'duration_in_minutes'
    | 'no_description'
    | 'no_thumbnail'
  /** The field whose value is worth seeing. */
  readonly shows?: 'duration'
}

/** Records that have the same number in a column. */
export interface DuplicateRule {
  readonly finds: 'same'
  readonly column: 'same_source' | 'same_talk'
  /** Only those that are in several categories. */
  readonly acrossCategories: boolean
  readonly shows: 'source_url' | 'title'
}

/** Names that differ in nothing that matters. */
export interface SpellingRule {
  readonly finds: 'spellings'
  readonly of: 'speaker' | 'tag'
}
