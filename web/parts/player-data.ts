import type { Source } from '../data.ts'

/** What the server hands to the script of the player, in an attribute. */
export interface PlayerData {
  /** The page of the talk, as a whole address. */
  readonly link: string
  readonly locale: string
  /** Where to start, in seconds. */
  readonly at: number
  readonly sources: readonly Source[]
  readonly words: PlayerMessages
}

export interface PlayerMessages {
  readonly copied: string
  readonly unplayable: string
  /** With {host} and {next} in it. */
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
