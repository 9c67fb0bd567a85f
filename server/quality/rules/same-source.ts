import type { Rule } from '../rule.ts'

export const sameSource: Rule = {
  rule: 'same-source',
  title: 'The same source in several records',
  advice: 'Keep one record for each talk. If these are different talks, correct their source URLs.',
  finds: 'same',
  column: 'same_source',
  acrossCategories: false,
  shows: 'source_url',
}
