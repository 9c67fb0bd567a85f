import type { SourceState } from '@talkshelf/contract'
import type { Fix } from './fixes.ts'

// Types of data-quality rules.

export type Rule =
  | RecordRule
  | DuplicateRule
  | SpellingRule
  | SourceRule
  | SingleOperatorRule
  | ReplacementRule

interface RuleBase {
  /** The name in URLs. */
  readonly rule: string
  readonly title: string
  readonly advice: string
}

/** Finds single records by a boolean column, see `ruleColumn`. */
export interface RecordRule extends RuleBase {
  readonly finds: 'records'
  /** The field whose value a finding contains. */
  readonly shows?: ShownField
  /** Fixes those findings for which the right value is certain. */
  readonly fix?: Fix
}

/** Finds groups of records that have the same fingerprint in a column, see `ruleColumn`. */
export interface DuplicateRule extends RuleBase {
  readonly finds: 'same'
  /** Whether a group must span several categories. */
  readonly acrossCategories: boolean
  /** Whether talks that start at different times of a recording are no duplicates. */
  readonly separatesParts: boolean
  readonly shows: ShownField
}

/** Finds names that differ in spelling only. */
export interface SpellingRule extends RuleBase {
  readonly finds: 'spellings'
  readonly of: 'speaker' | 'tag'
}

/** Finds sources in some states, with the records that have them. */
export interface SourceRule extends RuleBase {
  readonly finds: 'sources'
  /** None of `new` and `ok`, which have no index. */
  readonly states: readonly SourceState[]
}

/** Finds live records of which exactly one operator has a source that can be watched. */
interface SingleOperatorRule extends RuleBase {
  readonly finds: 'single-operator'
}

/** Finds records for which a copy of the video waits for a decision. */
interface ReplacementRule extends RuleBase {
  readonly finds: 'replacements'
}

/** Columns of a record with a text or a number that a finding can contain. */
type ShownField =
  | 'title'
  | 'summary'
  | 'copyright_text'
  | 'duration'
  | 'recorded'
  | 'source_url'
  | 'thumbnail_url'

/**
 * Returns the column of `video` that has the result of a rule. It has the name of the rule, and the
 * database generates it on every write.
 */
export function ruleColumn({ rule }: RecordRule | DuplicateRule): string {
  return rule.replaceAll('-', '_')
}
