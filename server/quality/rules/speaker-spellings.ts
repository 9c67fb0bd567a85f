import type { Rule } from '../rule.ts'

export const speakerSpellings: Rule = {
  rule: 'speaker-spellings',
  title: 'Speakers in several spellings',
  advice: 'If they are the same person, write the name in the same way in all records.',
  finds: 'spellings',
  of: 'speaker',
}
