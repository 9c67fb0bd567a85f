// What is matched: the talks of a schedule, the recordings of a playlist, and what people decided.

/** A talk of the schedule of one event. */
export interface ScheduledTalk {
  /** Identifies the talk in the schedule; the same when the schedule is read again. */
  readonly key: string
  readonly title: string
  readonly speakers: readonly string[]
  /** Day, or day and local time: `2026-05-01`, `2026-05-01T09:30`. */
  readonly start?: string | null
  readonly room?: string | null
  /** The planned length. */
  readonly minutes?: number | null
}

/** A recording of a playlist. */
export interface Recording {
  /** Identifies the recording at its host. */
  readonly key: string
  readonly title: string
  readonly seconds?: number | null
  readonly description?: string | null
  /** Day of publication. */
  readonly published?: string | null
}

/**
 * A decision of a person. It belongs to keys and is never asked again while the titles are those
 * that were decided about.
 *
 * - `pair`: the recording is that of the talk.
 * - `not`: it is not.
 * - `no-recording`: the talk has no recording.
 * - `no-talk`: the recording has no talk in the schedule.
 * - `part`: the recording contains the talk, from `start` to `end`.
 */
export type Decision =
  | (DecidedTalk & DecidedRecording & { readonly verdict: 'pair' })
  | (DecidedTalk & DecidedRecording & { readonly verdict: 'not' })
  | (DecidedTalk &
      DecidedRecording & {
        readonly verdict: 'part'
        readonly startSeconds: number | null
        readonly endSeconds: number | null
      })
  | (DecidedTalk & { readonly verdict: 'no-recording' })
  | (DecidedRecording & { readonly verdict: 'no-talk' })

interface DecidedTalk {
  readonly talk: string
  /** `titleFingerprint` of the title that was decided about; a decision without it always holds. */
  readonly talkTitle?: string
}

interface DecidedRecording {
  readonly recording: string
  readonly recordingTitle?: string
}

export interface MatchInput {
  /** The name of the event: its words say nothing about a talk. */
  readonly event: string
  readonly talks: readonly ScheduledTalk[]
  readonly recordings: readonly Recording[]
  readonly decisions?: readonly Decision[]
  /** The pattern of the titles of this source, learned earlier. */
  readonly pattern?: string | null
}
