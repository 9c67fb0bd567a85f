/** A parser under test. */
export interface FuzzTarget {
  readonly name: string
  /** Inputs that are valid, or almost. */
  readonly seeds: readonly (string | Buffer)[]
  /** Tokens with a meaning for this parser. */
  readonly dictionary: readonly string[]
  /** The part of all inputs that this target gets, relative to the others; 1 unless given. */
  readonly share?: number
  /** The errors of refused inputs. Any other error is a finding. */
  readonly refusals?: readonly (abstract new (
    ...args: never[]
  ) => Error)[]
  /** Throws if the input breaks a property. */
  run(input: Buffer): unknown
}

/** The service that HTTP targets send requests to. */
export interface TargetService {
  readonly port: number
  readonly editor: string
  readonly admin: string
}

/** Splits a list that is written in lines. */
export const textLines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trim())

/** Splits a list that is written in words. */
export const inputWords = (text: string) => text.trim().split(/\s+/)

/** Placeholders for lone surrogates, which UTF-8 cannot encode; `decodeInput` replaces them. */
export const loneHigh = '\uf8f0'
export const loneLow = '\uf8f1'

/** Decodes the input, and replaces the placeholders by lone surrogates. */
export function decodeInput(input: Buffer): string {
  return input.toString().replaceAll(loneHigh, '\ud83d').replaceAll(loneLow, '\udc00')
}

/** Throws unless the property holds. The message identifies a finding: it contains no values. */
export function assertProperty(
  condition: boolean,
  message: string,
  detail?: unknown,
): asserts condition {
  if (!condition) throw new PropertyBroken(message, detail)
}

export class PropertyBroken extends Error {
  constructor(message: string, detail: unknown) {
    super(detail === undefined ? message : `${message}: ${JSON.stringify(detail)?.slice(0, 300)}`)
    this.name = 'PropertyBroken'
  }
}
