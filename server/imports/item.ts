import type { CategoryInput, ExportedEntity, Fact, VideoInput } from '@talkshelf/contract'

// What every format is read into: one shape, whatever the file looked like. Nothing here has been
// checked against the archive.

/** One talk, as a file tells it. */
export interface ImportItem {
  /** Where it stands, for people: `line 12`, `row 4`, `pycon-2014/videos/one.json`. */
  readonly place: string
  /** What its source calls it, and will call it next time as well. */
  readonly key?: string
  /** The number that it has in this archive, or had in the one that this archive continues. */
  readonly id?: number
  /**
   * What the file says about the record. What it does not speak of is absent, and stays as it is.
   */
  readonly fields: ItemFields
  /** What it says that has no field. */
  readonly facts: readonly Fact[]
  readonly notes: readonly ImportNote[]
  /** Only in an export of ours: what the service gave the record itself. */
  readonly kept?: OriginalRecord
}

export type ItemFields = Partial<Omit<VideoInput, 'id' | 'slug' | 'added' | 'updated'>>

export interface OriginalRecord {
  /** Undefined where the file has none that is valid. */
  readonly slug: string | undefined
  readonly added: string
  readonly updated: string
  readonly revision: number
  readonly takenDown?: { readonly day: string; readonly reason: string }
}

/** What was dropped, guessed or repaired on the way. */
export interface ImportNote {
  readonly kind: 'dropped' | 'guessed' | 'repaired'
  /** The field of the file, or of the record. */
  readonly field: string
  /** A sentence without its subject: `is 12 minutes in the file, and 720 seconds here`. */
  readonly detail: string
}

/** A group or event that the file describes. Talks name it by its title. */
export interface CategoryItem {
  readonly category: CategoryInput
}

/** Only in an export of ours: a speaker, tag or category with all its names. */
export interface EntityItem {
  readonly place: string
  readonly entity: ExportedEntity
}

/** A piece of the file from which no talk can be made. The rest goes on. */
export interface UnreadableItem {
  readonly place: string
  readonly unreadable: string
}

export type ParsedItem = ImportItem | CategoryItem | EntityItem | UnreadableItem

/** What a file can be. */
export interface ImportFormat {
  readonly name: string
  /** For people who wonder what to give: a few words. */
  readonly about: string
  /**
   * Whether a file is of this format, by how it begins (some kilobytes of text, perhaps cut off)
   * and by its path.
   */
  recognises(begin: string, path: string): boolean
  /** In the order of the file. Throws `Refused` where the whole can't be read. */
  read(files: AsyncIterable<SourceFile>, options: ParseOptions): AsyncIterable<ParsedItem>
}

export interface ParseOptions {
  /**
   * The group or event that talks belong to, where the file names none. A file of one event is of
   * this one, whatever it calls itself.
   */
  readonly category: string | undefined
  /** Their language, for which the file names none. */
  readonly language: string | undefined
}

/** One file of what was given: a folder has many. It can be read once, in one of two ways. */
export interface SourceFile {
  /** Relative to the folder that was given. */
  readonly path: string
  /** The whole text. Throws `Refused` where it is not UTF-8 or larger than the limit. */
  text(): Promise<string>
  /**
   * Its lines, without line ends, one at a time: for files larger than memory. Throws `Refused` at
   * a line beyond the limit.
   */
  lines(): AsyncIterable<string>
}

/** The file can't be imported. The message tells the person what is wrong and what to do. */
export class InputRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'InputRefused'
  }
}
