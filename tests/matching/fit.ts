import type { Assigned } from '../../server/matching/assign.ts'
import { bandsOf } from '../../server/matching/bands.ts'
import { featuresOf } from '../../server/matching/confidence.ts'
import { type Band, sureLimit } from '../../server/matching/limits.ts'
import { assignTalks } from '../../server/matching/match.ts'
import { type Condition, conditionNames, seriesOf, underCondition } from './conditions.ts'
import { goals } from './goals.ts'
import type { GoldEvent } from './gold.ts'
import { inputOf, isLabelledPair } from './measure.ts'

// Fits the model and the limit of server/matching/limits.ts on the curated events.

/** A pair as the matcher assigned it. */
interface Sample {
  readonly condition: Condition
  readonly half: number
  readonly features: readonly number[]
  readonly isRight: boolean
  /** Wrong, although the titles have the same words: no limit can tell it from a right one. */
  readonly isTwin: boolean
  /** Whether it can be sure: no veto, and no close rival. */
  readonly isEligible: boolean
  readonly band: Band
}

interface Training {
  readonly samples: readonly Sample[]
  /** How many pairs there are to be found, under each condition in each half. */
  readonly pairs: ReadonlyMap<string, number>
}

/** How much of the errors that a goal allows the limit leaves unused, for harder events. */
const slack = 0.4

/** Keeps the coefficients small. */
const penalty = 0.3

/**
 * Fits the coefficients to all pairs. Finds the lowest limit that reaches the goals of precision in
 * each half of the series, takes the higher one of the two, and prints what it gives.
 */
export function printFit(curated: readonly GoldEvent[], seeds: readonly number[]): void {
  const training = collect(curated, seeds)
  const coefficients = fitLogistic(
    training.samples.filter(({ isEligible, isTwin }) => isEligible && !isTwin),
  )
  console.log(`coefficients: ${coefficients.map((value) => value.toFixed(2)).join(', ')}`)
  const confidence = (sample: Sample) => probability(sample.features, coefficients)
  const limits = [0, 1].map((half) => lowestLimit(training, half, confidence))
  for (const [half, limit] of limits.entries()) {
    console.log(`Limit of half ${half + 1}: ${limit.toFixed(3)}; what it gives in the other one:`)
    printFigures(training, [1 - half], limit, confidence)
  }
  const limit = Math.max(...limits)
  console.log(`sureLimit.confidence: ${limit.toFixed(3)}; what it gives in both:`)
  printFigures(training, [0, 1], limit, confidence)
  for (const band of ['sure', 'likely', 'unsure'] as const) {
    const inBand = training.samples.filter((sample) => sample.band === band)
    const right = inBand.filter(({ isRight }) => isRight).length
    console.log(`${band}: ${(right / inBand.length).toFixed(4)} of ${inBand.length} are right`)
  }
}

function collect(curated: readonly GoldEvent[], seeds: readonly number[]): Training {
  const samples: Sample[] = []
  const pairs = new Map<string, number>()
  for (const condition of conditionNames)
    for (const [index, gold] of curated.entries())
      for (const measured of underCondition(condition, gold, index, curated, seeds)) {
        const { assignment, event } = assignTalks(inputOf(measured))
        const half = halfOf(gold)
        const key = `${condition} ${half}`
        pairs.set(key, (pairs.get(key) ?? 0) + measured.pairs.length)
        const bands = bandsOf(assignment, event)
        const recordingOf = new Map(measured.pairs.map(({ talk, recording }) => [talk, recording]))
        const isLabelled = isLabelledPair(measured)
        for (const [talk, pair] of assignment.pairs) {
          const { key: recording } = pair.recording.recording
          if (!isLabelled(talk.talk.key, recording)) continue
          const isRight = recordingOf.get(talk.talk.key) === recording
          samples.push(sampleOf(pair, condition, half, isRight, bands.get(talk) ?? 'none'))
        }
      }
  return { samples, pairs }
}

function sampleOf(
  pair: Assigned,
  condition: Condition,
  half: number,
  isRight: boolean,
  band: Band,
): Sample {
  return {
    condition,
    half,
    isRight,
    band,
    features: Object.values(featuresOf(pair)),
    isTwin: !isRight && pair.title > 0.99 && pair.explained > 0.99,
    isEligible: pair.vetoes.length === 0 && pair.margin >= sureLimit.margin,
  }
}

/** Returns the probability that a logistic model gives. */
function probability(features: readonly number[], coefficients: readonly number[]): number {
  const sum = features.reduce((total, value, at) => total + value * (coefficients[at] ?? 0), 0)
  return 1 / (1 + Math.exp(-sum))
}

/** Fits a logistic model by Newton's method. */
function fitLogistic(samples: readonly Sample[]): number[] {
  const size = samples[0]?.features.length ?? 0
  let coefficients = Array.from({ length: size }, () => 0)
  for (let step = 0; step < 30; step++) {
    const gradient = coefficients.map((value) => penalty * value)
    const hessian = coefficients.map((_, row) =>
      coefficients.map((_, column) => (row === column ? penalty : 0)),
    )
    for (const { features, isRight } of samples) {
      const expected = probability(features, coefficients)
      for (const [row, value] of features.entries()) {
        gradient[row] = (gradient[row] ?? 0) + value * (expected - Number(isRight))
        const line = hessian[row] as number[]
        for (const [column, other] of features.entries())
          line[column] = (line[column] ?? 0) + value * other * expected * (1 - expected)
      }
    }
    const change = solve(hessian, gradient)
    coefficients = coefficients.map((value, at) => value - (change[at] ?? 0))
  }
  return coefficients
}

/** Solves a system of linear equations by elimination; the matrix is positive definite. */
function solve(matrix: readonly (readonly number[])[], values: readonly number[]): number[] {
  const rows = matrix.map((row, index) => [...row, values[index] ?? 0])
  for (const [index, pivot] of rows.entries())
    for (const [other, row] of rows.entries()) {
      if (other === index) continue
      const factor = (row[index] ?? 0) / (pivot[index] ?? 1)
      for (const [column, value] of pivot.entries())
        row[column] = (row[column] ?? 0) - factor * value
    }
  return rows.map((row, index) => (row.at(-1) ?? 0) / (row[index] ?? 1))
}

/** Finds the lowest limit from which on the precision reaches the goals, with some slack. */
function lowestLimit(
  training: Training,
  half: number,
  confidence: (sample: Sample) => number,
): number {
  for (let limit = 0.5; limit < 0.999; limit += 0.005) {
    const isReached = conditionNames.every((condition) => {
      const { right, wrong, twins } = count(training, condition, [half], limit, confidence)
      const allowed = (1 - slack) * (1 - goals[condition].precision / 100)
      return wrong - twins <= allowed * (right + wrong - twins)
    })
    if (isReached) return limit
  }
  return 0.999
}

function count(
  { samples }: Training,
  condition: Condition,
  halves: readonly number[],
  limit: number,
  confidence: (sample: Sample) => number,
) {
  const sure = samples.filter(
    (sample) =>
      sample.isEligible &&
      sample.condition === condition &&
      halves.includes(sample.half) &&
      confidence(sample) >= limit,
  )
  const right = sure.filter(({ isRight }) => isRight).length
  const twins = sure.filter(({ isTwin }) => isTwin).length
  return { right, wrong: sure.length - right, twins }
}

function printFigures(
  training: Training,
  halves: readonly number[],
  limit: number,
  confidence: (sample: Sample) => number,
): void {
  for (const condition of conditionNames) {
    const { right, wrong, twins } = count(training, condition, halves, limit, confidence)
    const pairs = halves.map((half) => training.pairs.get(`${condition} ${half}`) ?? 0)
    const recall = (100 * right) / pairs.reduce((sum, value) => sum + value, 0)
    console.log(
      `  ${condition}: precision ${((100 * right) / (right + wrong)).toFixed(2)} ` +
        `(${wrong} wrong, ${twins} with the same words), recall ${recall.toFixed(2)}`,
    )
  }
}

/** Puts all years of a series into one half: the other years are in its crowded playlists. */
function halfOf(event: GoldEvent): number {
  let sum = 0
  for (const letter of seriesOf(event)) sum = (31 * sum + letter.charCodeAt(0)) % 65_521
  return sum % 2
}
