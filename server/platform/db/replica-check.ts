import { setTimeout as sleep } from 'node:timers/promises'
import { raw } from 'sql-template-tag'
import Type from 'typebox'
import { type Db, one } from './db.ts'
import { askPrimary, askReplica, withoutPageHeader } from './replica-position.ts'
import { withConnection } from './snapshot.ts'

// Checks a replica once, for `talkshelf doctor`.

const PrimaryRow = Type.Object({
  position: Type.Integer(),
  timeline: Type.Integer(),
  database: Type.String(),
})
const ReplicaRow = Type.Object({
  position: Type.Union([Type.Integer(), Type.Null()]),
  timeline: Type.Integer(),
  database: Type.String(),
  is_in_recovery: Type.Boolean(),
  sees_statistics: Type.Boolean(),
})

const askReplicaMore = raw(
  `select asked.*, pg_has_role('pg_read_all_stats', 'usage') as sees_statistics
   from (${askReplica}) as asked`,
)

export interface ReplicaCheck {
  readonly isInRecovery: boolean
  readonly isSameDatabase: boolean
  readonly timeline: number
  readonly primaryTimeline: number
  /** How long it took to replay what the primary had; undefined if it took longer than the limit. */
  readonly replayedMs: number | undefined
  /** Whether the role sees the timeline of the stream. */
  readonly seesStatistics: boolean
}

const applicationName = 'talkshelf doctor'

/** Compares a replica with its primary. Throws if it cannot be reached. */
export function checkReplica(
  primaryUrl: string,
  url: string,
  limitMs: number,
): Promise<ReplicaCheck> {
  return withConnection(primaryUrl, applicationName, (primary) =>
    withConnection(url, applicationName, (replica) => compare(primary, replica, limitMs)),
  )
}

async function compare(primary: Db, replica: Db, limitMs: number): Promise<ReplicaCheck> {
  const target = await one(primary, PrimaryRow, raw(askPrimary))
  const askedMs = performance.now()
  for (;;) {
    const answer = await one(replica, ReplicaRow, askReplicaMore)
    const tookMs = performance.now() - askedMs
    const isSameDatabase = answer.database === target.database
    const hasReplayed = (answer.position ?? 0) >= withoutPageHeader(target.position)
    if (hasReplayed || !isSameDatabase || !answer.is_in_recovery || tookMs > limitMs)
      return {
        isInRecovery: answer.is_in_recovery,
        isSameDatabase,
        timeline: answer.timeline,
        primaryTimeline: target.timeline,
        replayedMs: hasReplayed ? tookMs : undefined,
        seesStatistics: answer.sees_statistics,
      }
    await sleep(50)
  }
}
