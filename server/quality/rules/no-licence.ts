import type { Rule } from '../rule.ts'

export const noLicence: Rule = {
  rule: 'no-licence',
  title: 'No licence',
  advice:
    'Say in the licence text what others may do with the recording. The place where it is hosted often says so.',
  finds: 'records',
  column: 'no_licence',
}
