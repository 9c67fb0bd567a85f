import type { PlaylistStyle } from './playlist-style.ts'
import {
  type PreparedEvent,
  type RecordingTitle,
  type TalkTitle,
  type WeighedWords,
  weighWords,
} from './titles.ts'
import { wordsOf } from './words.ts'

/** The title of a recording as the style of its playlist reads it. */
export interface ReadTitle {
  readonly recording: RecordingTitle
  /** What stands where the title stands; the whole title if it does not fit the pattern. */
  readonly subject: WeighedWords
  /** The words where the speaker stands. */
  readonly speaker: readonly string[] | undefined
  /** The talks whose speaker is named in full. */
  readonly namedTalks: ReadonlySet<TalkTitle>
  /** How many of the words that the recordings of the event have it has, as a share. */
  readonly belonging: number
  /** Whether the recording is hardly one of another event. */
  readonly isOfEvent: boolean
}

/** Reads the title of a recording. */
export function readTitle(
  recording: RecordingTitle,
  namedTalks: ReadonlySet<TalkTitle> | undefined,
  { vocabulary, years, isOneEvent }: PreparedEvent,
  style: PlaylistStyle,
): ReadTitle {
  const slots =
    recording.cutWord === undefined ? style.readTitle(recording.recording.title) : undefined
  const textsOf = (text: string) => wordsOf(text).map((word) => word.text)
  const belonging = style.belongingOf(recording)
  const saysYear = [...recording.years].some((year) => years.has(year))
  return {
    recording,
    subject: slots ? weighWords(textsOf(slots.title), vocabulary) : recording.title,
    speaker: slots?.speaker === undefined ? undefined : textsOf(slots.speaker),
    namedTalks: namedTalks ?? new Set(),
    belonging,
    isOfEvent: belonging === 1 && (isOneEvent || saysYear),
  }
}
