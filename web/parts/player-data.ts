import type { Source } from '../data.ts'
import type { TalkNote } from '../islands/remembered.ts'

/** Data for the player script, passed in an attribute. */
export interface PlayerData {
  /** URL of the talk page. */
  readonly link: string
  readonly locale: string
  /** Start time in seconds. */
  readonly at: number
  readonly sources: readonly Source[]
  /** The talk that the browser remembers. A player in another site remembers nothing. */
  readonly talk?: TalkNote | undefined
  readonly words: PlayerMessages
}

export interface PlayerMessages {
  readonly copied: string
  readonly unplayable: string
  readonly retry: string
  /** Contains the placeholders {host} and {next}. */
  readonly nextSource: string
  readonly controls: Readonly<Record<ControlMessage, string>>
}

export type ControlMessage =
  | 'player'
  | 'play'
  | 'pause'
  | 'mute'
  | 'unmute'
  | 'volume'
  | 'seek'
  | 'time'
  | 'timeOf'
  | 'timeUnknown'
  | 'loading'
  | 'openTalk'
  | 'speed'
  | 'captions'
  | 'captionsOn'
  | 'captionsOff'
  | 'fullScreen'
  | 'fullScreenOff'
  | 'pictureInPicture'
  | 'pictureInPictureOff'
  | 'hour'
  | 'hours'
  | 'minute'
  | 'minutes'
  | 'second'
  | 'seconds'
