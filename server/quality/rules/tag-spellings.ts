import type { Rule } from '../rule.ts'

export const tagSpellings: Rule = {
  rule: 'tag-spellings',
  title: 'Tags in several spellings',
  advice: 'If they mean the same, write the tag in the same way in all records.',
  finds: 'spellings',
  of: 'tag',
}
