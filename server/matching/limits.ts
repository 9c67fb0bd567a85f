// The limits of the matcher. `npm run match -- --fit` prints `coefficients`, `sureLimit` and
// `measuredShares`: they are fitted on the curated events only (docs/matching.md), and never on the
// measured ones.

/** The logistic model of a pair: what each feature from 0 to 1 adds to the logarithm of the odds. */
export const coefficients = {
  constant: -6.45,
  words: 9.51,
  name: 1.89,
  margin: 6.2,
  oneEvent: 1.38,
}

/** A greater margin says no more. */
export const maxMargin = 0.5

/** Pairs are paired automatically from this confidence and margin on, if nothing speaks against it. */
export const sureLimit = { confidence: 0.955, margin: 0.1 }

/** Other recordings from this score on may be of the same talk. */
export const minCopyScore = 0.45

/** Pairs from this score and margin on are likely. */
export const likelyLimit = { score: 0.4, margin: 0.05 }

/** Pairs with a lower score are proposed, but the talk counts as one without recording. */
export const minUnsureScore = 0.25

export type Band = 'sure' | 'likely' | 'unsure' | 'none'

/** The share of right pairs among those of a band, as measured. */
export const measuredShares: Readonly<Record<Exclude<Band, 'none'>, number>> = {
  sure: 0.999,
  likely: 0.64,
  unsure: 0.38,
}
