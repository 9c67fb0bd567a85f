import type { Rule } from '../rule.ts'

export const noDescription: Rule = {
  rule: 'no-description',
  title: 'No description',
  advice: 'Add a summary or a description, so that the talk can be found by what it is about.',
  finds: 'records',
  column: 'no_description',
}
