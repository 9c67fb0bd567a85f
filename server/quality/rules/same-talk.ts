import type { Rule } from '../rule.ts'

export const sameTalk: Rule = {
  rule: 'same-talk',
  title: 'The same title and speakers at several events',
  advice: 'Look whether the talk was given several times, or one record is in the wrong category.',
  finds: 'same',
  column: 'same_talk',
  acrossCategories: true,
  shows: 'title',
}
