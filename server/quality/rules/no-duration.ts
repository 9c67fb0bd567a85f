import type { Rule } from '../rule.ts'

export const noDuration: Rule = {
  rule: 'no-duration',
  title: 'No duration',
  advice: 'Add the length of the recording in seconds.',
  finds: 'records',
  column: 'no_duration',
  shows: 'duration',
}
