import type { Rule } from '../rule.ts'

export const noSpeaker: Rule = {
  rule: 'no-speaker',
  title: 'No speaker',
  advice: 'Add the speakers. Look in the title, the description or the programme of the event.',
  finds: 'records',
  column: 'no_speaker',
}
