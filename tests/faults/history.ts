// Checks the requests and responses of a workload during a fault against the database. Every
// response contains a revision, so no search is needed as in Knossos or Porcupine: sorting is
// enough.

export interface Operation {
  /** `read` is sent with a token and must be fresh; `anonymous` may come from a cache. */
  readonly kind: 'read' | 'anonymous' | 'compare-and-set' | 'blind' | 'create'
  /** The record; of a creation only known once it was acknowledged. */
  id?: number
  readonly field: string
  /** The written value, unique in the whole history; or the value that was read. */
  value: string
  /** The revision that If-Match named. */
  readonly from?: number
  readonly start: number
  /** When the last response arrived: after an unknown outcome the same request is sent again. */
  end: number
  /** `fail` is certain: nothing was written. `unknown` may have been written, once. */
  outcome: 'ok' | 'fail' | 'unknown'
  /** The revision of the record in the response. */
  revision?: number
  /** Whether it was sent more than once. */
  repeated: boolean
  /** A repeated compare-and-set was refused: this was the newest revision then. */
  refusedAt?: number
  /** After an unknown outcome: whether a definite response arrived in the end. */
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
 * Compares a history with the rows of the change table. Returns a message for each contradiction;
 * empty if there is none.
 */
export function contradictions(
  history: readonly Operation[],
  changes: readonly RecordedChange[],
  { staleMs }: { staleMs: number },
): string[] {
  const records = Map.groupBy(changes, ({ id }) => id)
  for (const rows of records.values()) rows.sort((a, b) => a.revision - b.revision)
  const rowsByValue = groupByValue([...records.values()].flat())
  const reads = history.filter(isRead)
  const writes = history.filter((operation) => !isRead(operation))
  return [
    ...[...records.values()].flatMap(sequenceProblems),
    ...reads.flatMap((operation) => readProblems(operation, records)),
    ...writeProblems(writes, records, rowsByValue),
    ...doubleAcknowledgements(writes),
    ...outOfOrder(history, rowsByValue, staleMs),
  ]
}

type Records = ReadonlyMap<number, readonly RecordedChange[]>
type RowsByValue = ReadonlyMap<string, readonly RecordedChange[]>

/** Finds the changes that wrote each value. Of a creation only the title is unique. */
function groupByValue(changes: readonly RecordedChange[]): RowsByValue {
  const rows = new Map<string, RecordedChange[]>()
  for (const change of changes) {
    const values = change.revision === 1 ? [change.after.title] : Object.values(change.after)
    for (const value of values)
      if (typeof value === 'string') rows.set(value, [...(rows.get(value) ?? []), change])
  }
  return rows
}

/** Checks that the revisions of a record have no gaps, and increasing times. */
function sequenceProblems(rows: readonly RecordedChange[]): string[] {
  const problems: string[] = []
  for (const [index, row] of rows.entries()) {
    const before = rows[index - 1]
    if (row.revision !== index + 1)
      problems.push(`expected revision ${index + 1}, found ${name(row)}`)
    if (before && !(row.at > before.at))
      problems.push(`${name(row)} has the time ${row.at}, not later than ${before.at}`)
  }
  return problems
}

/** Checks that a read returned the value that its revision has in the database. */
function readProblems(operation: Operation, records: Records): string[] {
  const { id, value, outcome, revision, field } = operation
  if (outcome !== 'ok' || id === undefined || revision === undefined) return []
  const written = valueAt(records.get(id) ?? [], field, revision)
  if (written === undefined)
    return [`a read showed revision ${revision} of ${id}, which does not exist`]
  if (written === value) return []
  return [`a read showed ${value} as revision ${revision} of ${id}, which is ${written}`]
}

/** Checks that a write is in the database once if it was acknowledged, and not if refused. */
function writeProblems(
  writes: readonly Operation[],
  records: Records,
  rowsByValue: RowsByValue,
): string[] {
  const writers = new Map(writes.map((operation) => [operation.value, operation]))
  /** Whether the next revision may have been written before the response arrived. */
  function wasOvertaken(operation: Operation, { id, revision }: RecordedChange): boolean {
    const next = Object.values(records.get(id)?.[revision]?.after ?? {})
    return next.some(
      (value) => (writers.get(String(value))?.start ?? Number.POSITIVE_INFINITY) < operation.end,
    )
  }
  const problems: string[] = []
  for (const operation of writes) {
    const { kind, value, outcome, refusedAt } = operation
    const rows = rowsByValue.get(value) ?? []
    const [row] = rows
    if (rows.length > 1)
      problems.push(
        `${kind} ${value} was written ${rows.length} times: ${rows.map(name).join(', ')}`,
      )
    if (outcome === 'fail' && row)
      problems.push(`${kind} ${value} was refused, but was written: ${name(row)}`)
    if (outcome === 'unknown' && !operation.settled)
      problems.push(`${kind} ${value} never had a definite response`)
    if (refusedAt !== undefined && row?.revision === refusedAt && !wasOvertaken(operation, row))
      problems.push(
        `${kind} ${value} was refused when repeated, ` +
          `though it had written the newest revision: ${name(row)}`,
      )
    if (outcome === 'ok') problems.push(...acknowledgementProblems(operation, row))
  }
  return problems
}

/** Checks that an acknowledged write is in the database, with the revision of the response. */
function acknowledgementProblems(operation: Operation, row: RecordedChange | undefined): string[] {
  const { kind, id, value, from, revision } = operation
  const acknowledged = `${kind} ${value} was acknowledged as revision ${revision} of ${id}`
  const problems: string[] = []
  if (from !== undefined && revision !== from + 1)
    problems.push(`${kind} ${value} required revision ${from} and was acknowledged as ${revision}`)
  if (!row) return [...problems, `${acknowledged}, and is lost`]
  const hasRevision = isExact(operation)
    ? row.revision === revision
    : row.revision <= (revision ?? 0)
  if (row.id !== id || !hasRevision) problems.push(`${acknowledged}, but is ${name(row)}`)
  return problems
}

/**
 * Tells whether the response has the revision of the write; a repeated blind write gets a later
 * one.
 */
const isExact = ({ kind, repeated }: Operation) => kind !== 'blind' || !repeated

/** Finds revisions that were acknowledged to two writes. */
function doubleAcknowledgements(writes: readonly Operation[]): string[] {
  const problems: string[] = []
  const acknowledged = new Map<string, Operation>()
  for (const operation of writes) {
    if (operation.outcome !== 'ok' || !isExact(operation)) continue
    const { id, revision, value } = operation
    const other = acknowledged.get(`${id}.${revision}`)
    if (other)
      problems.push(
        `revision ${revision} of ${id} was acknowledged twice, as ${other.value} and as ${value}`,
      )
    acknowledged.set(`${id}.${revision}`, operation)
  }
  return problems
}

/**
 * Checks real time: an operation that starts after another one has ended sees at least the same
 * revision, and writes a later one.
 */
function outOfOrder(
  history: readonly Operation[],
  rowsByValue: RowsByValue,
  staleMs: number,
): string[] {
  const problems: string[] = []
  const successful = history.filter(
    ({ outcome, id, revision }) => outcome === 'ok' && id !== undefined && revision !== undefined,
  )
  for (const [id, operations] of Map.groupBy(successful, (operation) => operation.id)) {
    const byEnd = operations.toSorted((a, b) => a.end - b.end)
    const since = (operation: Operation) =>
      operation.start - (operation.kind === 'anonymous' ? staleMs : 0)
    let newest: Operation | undefined
    let ended = 0
    for (const operation of operations.toSorted((a, b) => since(a) - since(b))) {
      for (let next = byEnd[ended]; next && next.end < since(operation); next = byEnd[++ended])
        if ((next.revision ?? 0) > (newest?.revision ?? 0)) newest = next
      const min = newest?.revision ?? 0
      const own = isRead(operation)
        ? operation.revision
        : rowsByValue.get(operation.value)?.[0]?.revision
      if (own === undefined || !newest) continue
      const ms = Math.round(operation.start - newest.end)
      if (isRead(operation) && own < min)
        problems.push(
          `stale ${operation.kind}: revision ${own} of ${id}, ` +
            `${ms} ms after revision ${min} was returned`,
        )
      if (!isRead(operation) && own <= min)
        problems.push(
          `out of order: ${operation.value} became revision ${own} of ${id}, ` +
            `after revision ${min} was returned`,
        )
    }
  }
  return problems
}

export interface Figures {
  readonly acknowledged: number
  readonly failed: number
  /** Writes that were repeated because the outcome of an attempt was unknown. */
  readonly unknown: number
  /** Those of them that are in the database, and those that got a definite response. */
  readonly applied: number
  readonly resolved: number
  readonly reads: number
  /** The longest time without an acknowledged write. */
  readonly gapMs: number
}

/** Counts the outcomes of a history. */
export function figures(
  history: readonly Operation[],
  changes: readonly RecordedChange[],
  startMs: number,
  endMs: number,
): Figures {
  const writes = history.filter((operation) => !isRead(operation))
  const written = new Set(changes.flatMap(({ after }) => Object.values(after)))
  const acknowledgedAt = writes
    .filter(({ outcome }) => outcome === 'ok')
    .map((operation) => operation.end)
  const times = [startMs, ...acknowledgedAt, endMs].sort((a, b) => a - b)
  const wasUnknown = writes.filter(({ repeated }) => repeated)
  return {
    acknowledged: acknowledgedAt.length,
    failed: writes.filter(({ outcome }) => outcome === 'fail').length,
    unknown: wasUnknown.length,
    applied: wasUnknown.filter(({ value }) => written.has(value)).length,
    resolved: wasUnknown.filter(({ outcome, settled }) => outcome === 'ok' || settled).length,
    reads: history.filter((operation) => isRead(operation) && operation.outcome === 'ok').length,
    gapMs: Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0))),
  }
}

const isRead = ({ kind }: Operation) => kind === 'read' || kind === 'anonymous'
const name = ({ id, revision }: RecordedChange) => `revision ${revision} of ${id}`

/**
 * Returns the newest value of a field up to a revision; undefined if there is no such revision.
 */
function valueAt(rows: readonly RecordedChange[], field: string, revision: number): unknown {
  if (revision > rows.length) return undefined
  for (let index = revision - 1; index >= 0; index--) {
    const after = rows[index]?.after
    if (after && field in after) return after[field]
  }
  return undefined
}
