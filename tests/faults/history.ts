// What was asked and what was answered while entities broke, and whether what is there afterwards
// agrees with it. Revisions are visible in every answer, so no search is needed as in Knossos or
// Porcupine: sorting is enough.

export interface Operation {
  /** `read` is sent with a token and must be fresh; `anonymous` may come from a cache. */
  readonly kind: 'read' | 'anonymous' | 'compare-and-set' | 'blind' | 'create'
  /** The record; of a creation only known once it was answered. */
  id?: number
  readonly field: string
  /** Written: unique over the whole history. Read: what came. */
  value: string
  /** The revision that If-Match named. */
  readonly from?: number
  readonly start: number
  /** When the last answer came: after an unknown outcome the same request is sent again. */
  end: number
  /** `fail` is certain: nothing was written. `unknown` may have been written, once. */
  outcome: 'ok' | 'fail' | 'unknown'
  /** Of the record in the answer. */
  revision?: number
  /** Whether it was sent more than once. */
  repeated: boolean
  /** A repeated compare-and-set was refused: this was the newest revision then. */
  refusedAt?: number
  /** Of an unknown outcome: a definite answer came in the end. */
  settled: boolean
}

/** One row of the change table. */
export interface RecordedChange {
  readonly id: number
  readonly revision: number
  readonly at: string
  readonly after: Readonly<Record<string, unknown>>
}

/**
 * Everything in which the history and the changes contradict each other; empty where all is well.
 */
export function contradictions(
  history: readonly Operation[],
  changes: readonly RecordedChange[],
  { staleMs }: { staleMs: number },
): string[] {
  const wrong: string[] = []
  const records = Map.groupBy(changes, ({ id }) => id)
  const places = new Map<string, RecordedChange[]>()
  for (const rows of records.values()) {
    rows.sort((a, b) => a.revision - b.revision)
    for (const [index, row] of rows.entries()) {
      const before = rows[index - 1]
      if (row.revision !== index + 1)
        wrong.push(`${name(row)} stands where revision ${index + 1} belongs`)
      if (before && !(row.at > before.at))
        wrong.push(`${name(row)} is of ${row.at}, not later than ${before.at}`)
      const values = row.revision === 1 ? [row.after.title] : Object.values(row.after)
      for (const value of values)
        if (typeof value === 'string') places.set(value, [...(places.get(value) ?? []), row])
    }
  }

  const writers = new Map(
    history
      .filter((operation) => !isRead(operation))
      .map((operation) => [operation.value, operation]),
  )
  /** Whether the next revision may have been there before the answer came. */
  function wasOvertaken(operation: Operation, { id, revision }: RecordedChange): boolean {
    const next = Object.values(records.get(id)?.[revision]?.after ?? {})
    return next.some(
      (value) => (writers.get(String(value))?.start ?? Number.POSITIVE_INFINITY) < operation.end,
    )
  }

  const acknowledged = new Map<string, Operation>()
  for (const operation of history) {
    const { kind, id, value, outcome, revision, field } = operation
    if (isRead(operation)) {
      if (outcome !== 'ok' || id === undefined || revision === undefined) continue
      const written = valueAt(records.get(id) ?? [], field, revision)
      if (written === undefined)
        wrong.push(`a read showed revision ${revision} of ${id}, which is not there`)
      else if (written !== value)
        wrong.push(`a read showed ${value} as revision ${revision} of ${id}, which is ${written}`)
      continue
    }
    const found = places.get(value) ?? []
    if (found.length > 1)
      wrong.push(
        `${kind} ${value} was written ${found.length} times: ${found.map(name).join(', ')}`,
      )
    const [row] = found
    if (outcome === 'fail' && row)
      wrong.push(`${kind} ${value} was refused, but is there: ${name(row)}`)
    if (outcome === 'unknown' && !operation.settled)
      wrong.push(`${kind} ${value} never had a definite answer`)
    if (
      operation.refusedAt !== undefined &&
      row?.revision === operation.refusedAt &&
      !wasOvertaken(operation, row)
    )
      wrong.push(
        `${kind} ${value} was refused when repeated, though it had made the newest revision: ${name(row)}`,
      )
    if (outcome !== 'ok') continue

    // A repeated blind write that had been applied is answered with the record as it is by then.
    const isExact = kind !== 'blind' || !operation.repeated
    const key = `${id}.${revision}`
    const other = acknowledged.get(key)
    if (isExact && other)
      wrong.push(
        `revision ${revision} of ${id} was acknowledged twice, as ${other.value} and as ${value}`,
      )
    if (isExact) acknowledged.set(key, operation)
    if (operation.from !== undefined && revision !== operation.from + 1)
      wrong.push(
        `${kind} ${value} asked for revision ${operation.from} and was acknowledged as ${revision}`,
      )
    if (!row)
      wrong.push(`${kind} ${value} was acknowledged as revision ${revision} of ${id}, and is lost`)
    else if (
      row.id !== id ||
      (isExact ? row.revision !== revision : row.revision > (revision ?? 0))
    )
      wrong.push(
        `${kind} ${value} was acknowledged as revision ${revision} of ${id}, but is ${name(row)}`,
      )
  }
  return [...wrong, ...outOfOrder(history, places, staleMs)]
}

/**
 * Real time: who begins after another one has ended sees at least what that one saw, and writes
 * after it.
 */
function outOfOrder(
  history: readonly Operation[],
  places: ReadonlyMap<string, readonly RecordedChange[]>,
  staleMs: number,
): string[] {
  const wrong: string[] = []
  const answered = history.filter(
    ({ outcome, id, revision }) => outcome === 'ok' && id !== undefined && revision !== undefined,
  )
  for (const [id, operations] of Map.groupBy(answered, (operation) => operation.id)) {
    const byEnd = operations.toSorted((a, b) => a.end - b.end)
    const since = (operation: Operation) =>
      operation.start - (operation.kind === 'anonymous' ? staleMs : 0)
    let floor: Operation | undefined
    let ended = 0
    for (const operation of operations.toSorted((a, b) => since(a) - since(b))) {
      for (let next = byEnd[ended]; next && next.end < since(operation); next = byEnd[++ended])
        if ((next.revision ?? 0) > (floor?.revision ?? 0)) floor = next
      const least = floor?.revision ?? 0
      const own = isRead(operation)
        ? operation.revision
        : places.get(operation.value)?.[0]?.revision
      if (own === undefined || !floor) continue
      const isLate = isRead(operation) ? own < least : own <= least
      const ms = Math.round(operation.start - floor.end)
      if (isLate && isRead(operation))
        wrong.push(
          `stale ${operation.kind}: revision ${own} of ${id}, ${ms} ms after revision ${least} was answered`,
        )
      else if (isLate)
        wrong.push(
          `out of order: ${operation.value} became revision ${own} of ${id}, after revision ${least} was answered`,
        )
    }
  }
  return wrong
}

export interface Figures {
  readonly acknowledged: number
  readonly failed: number
  readonly unknown: number
  /** Of the unknown: how many were there after all, and of how many it is known. */
  readonly applied: number
  readonly resolved: number
  readonly reads: number
  /** The longest time without an acknowledged write. */
  readonly gapMs: number
}

export function figures(
  history: readonly Operation[],
  changes: readonly RecordedChange[],
  begin: number,
  end: number,
): Figures {
  const writes = history.filter((operation) => !isRead(operation))
  const there = new Set(changes.flatMap(({ after }) => Object.values(after)))
  const acknowledgedAt = writes
    .filter(({ outcome }) => outcome === 'ok')
    .map((operation) => operation.end)
  const moments = [begin, ...acknowledgedAt, end].sort((a, b) => a - b)
  const wasUnknown = writes.filter(({ repeated }) => repeated)
  return {
    acknowledged: acknowledgedAt.length,
    failed: writes.filter(({ outcome }) => outcome === 'fail').length,
    unknown: wasUnknown.length,
    applied: wasUnknown.filter(({ value }) => there.has(value)).length,
    resolved: wasUnknown.filter(({ outcome, settled }) => outcome === 'ok' || settled).length,
    reads: history.filter((operation) => isRead(operation) && operation.outcome === 'ok').length,
    gapMs: Math.max(...moments.slice(1).map((moment, index) => moment - (moments[index] ?? 0))),
  }
}

const isRead = ({ kind }: Operation) => kind === 'read' || kind === 'anonymous'
const name = ({ id, revision }: RecordedChange) => `revision ${revision} of ${id}`

/** The newest value of the field up to this revision; undefined where there is no such revision. */
function valueAt(rows: readonly RecordedChange[], field: string, revision: number): unknown {
  if (revision > rows.length) return undefined
  for (let index = revision - 1; index >= 0; index--) {
    const after = rows[index]?.after
    if (after && field in after) return after[field]
  }
  return undefined
}
