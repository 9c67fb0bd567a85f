import type { Rule } from '../rule.ts'

export const durationInMinutes: Rule = {
  rule: 'duration-in-minutes',
  title: 'A duration that looks like minutes',
  advice: 'Compare it with the recording. Durations are in seconds: multiply minutes by 60.',
  finds: 'records',
  column: 'duration_in_minutes',
  shows: 'duration',
}
