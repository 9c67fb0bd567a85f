import type { Rule } from '../rule.ts'

export const noThumbnail: Rule = {
  rule: 'no-thumbnail',
  title: 'No thumbnail',
  advice: 'Add the address of a small picture of the recording.',
  finds: 'records',
  column: 'no_thumbnail',
}
