import type { Rule } from '../rule.ts'

export const sameSource: Rule = {
  rule: 'same-source',
  title: 'The same source in several records',
  advice:
    'If it is one talk, keep one record. If they are several talks, at least one of the addresses is wrong.',
  finds: 'same',
  column: 'same_source',
  acrossCategories: false,
  shows: 'source_url',
}
