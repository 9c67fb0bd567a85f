import type { Rule } from '../rule.ts'

export const durationInMinutes: Rule = {
  rule: 'duration-in-minutes',
  title: 'A duration that looks like minutes',
  advice:
    'Compare with the recording. If the number is minutes, multiply it by 60: a duration is in seconds.',
  finds: 'records',
  column: 'duration_in_minutes',
  shows: 'duration',
}
