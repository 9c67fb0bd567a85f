// Types of data-quality rules.

/** A rule refers to columns of 0005.do.videos.sql, which the database generates on every write. */
export type Rule = {
  /** The name in URLs. */
  readonly rule: string
  readonly title: string
  readonly advice: string
} & (RecordRule | DuplicateRule | SpellingRule)

/** Finds single records by a boolean column. */
export interface RecordRule {
  readonly finds: 'records'
  readonly column:
    | 'no_speaker'
    | 'no_licence'
    | 'no_duration'
    | 'duration_in_minutes'
    | 'no_description'
    | 'no_thumbnail'
  /** The field whose value a finding contains. */
  readonly shows?: 'duration'
}

/** Finds groups of records that have the same fingerprint in a column. */
export interface DuplicateRule {
  readonly finds: 'same'
  readonly column: 'same_source' | 'same_talk'
  /** Whether a group must span several categories. */
  readonly acrossCategories: boolean
  readonly shows: 'source_url' | 'title'
}

/** Finds names that differ in spelling only. */
export interface SpellingRule {
  readonly finds: 'spellings'
  readonly of: 'speaker' | 'tag'
}
