import type { Rule } from '../rule.ts'

export const noLicence: Rule = {
  rule: 'no-licence',
  title: 'No licence',
  advice: 'Add the licence of the recording. The video host often shows it.',
  finds: 'records',
  column: 'no_licence',
}
