import type { Condition } from './conditions.ts'
import type { Figures } from './measure.ts'

type Goal = Pick<Figures, 'precision' | 'recall' | 'first' | 'three'>

/** In percent. The limits are fitted to the precision, on other events than those measured. */
export const goals: Readonly<Record<Condition, Goal>> = {
  plain: { precision: 99.9, recall: 97.5, first: 99.7, three: 99.9 },
  holes: { precision: 99.8, recall: 97, first: 99.5, three: 99.9 },
  crowded: { precision: 99.9, recall: 96.5, first: 99.2, three: 99.8 },
  both: { precision: 99.7, recall: 96, first: 99, three: 99.8 },
}
