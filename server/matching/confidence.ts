import type { Assigned } from './assign.ts'
import { coefficients, maxMargin } from './limits.ts'

// How likely a pair is right: a logistic model of four features, so that a weak title needs a clear
// margin, and a whole title does not. No I/O.

type Features = Readonly<Record<keyof typeof coefficients, number>>

/** Returns what the model knows of a pair. */
export function featuresOf(
  pair: Pick<Assigned, 'title' | 'explained' | 'name' | 'margin' | 'isOneEvent'>,
): Features {
  return {
    constant: 1,
    words: Math.sqrt(pair.title * pair.explained),
    name: pair.name,
    margin: Math.min(pair.margin, maxMargin),
    oneEvent: Number(pair.isOneEvent),
  }
}

/** Returns the probability, from 0 to 1, that a pair without a veto is right. */
export function confidenceOf(pair: Assigned): number {
  const { constant, words, name, margin, oneEvent } = featuresOf(pair)
  const sum =
    coefficients.constant * constant +
    coefficients.words * words +
    coefficients.name * name +
    coefficients.margin * margin +
    coefficients.oneEvent * oneEvent
  return 1 / (1 + Math.exp(-sum))
}
