import type {
  CategoryInput,
  ExportedEntity,
  Fact,
  VideoInput,
  WarningCode,
} from '@talkshelf/contract'
import type { OutboundErrorCode } from '../platform/net/outbound-error.ts'

// The common output of all formats. Nothing in it has been validated yet. Items are stored as JSON
// until they are applied, so their field names must not change.

/** A talk in a file. */
export interface ImportItem {
  /** Its location, for people: `line 12`, `row 4`, `pycon-2014/videos/one.json`. */
  readonly place: string
  /** A key that identifies the talk at its source, and stays the same at the next import. */
  readonly key?: string
  /** The id of the record in this archive, or in the one that this archive continues. */
  readonly id?: number
  /**
   * When the record was last updated, in a table that was exported from here: the fields that
   * differ from that version are corrections.
   */
  readonly exportedVersion?: string
  /** Whether its values replace those of earlier imports: a table, which people correct. */
  readonly replacesImports?: true
  /** Only the fields in the file: all others keep their values. */
  readonly fields: ItemFields
  /** The columns of a table whose cells are empty, `related` and `media` among them. */
  readonly emptyColumns?: readonly string[]
  /** Guesses that only a new record gets, because the file has no value. */
  readonly fallback?: ItemFields
  /** Values that could not be read. The talk is refused for these and all other reasons. */
  readonly errors?: readonly string[]
  /** The row of a table. A refused one can be corrected and imported again. */
  readonly cells?: readonly (readonly [column: string, cell: string])[]
  /** Data that has no field in a record. */
  readonly facts: readonly Fact[]
  readonly notes: readonly (ImportNote | ImportWarning)[]
  /** Only in a Talkshelf export: the read-only fields of the record. */
  readonly kept?: OriginalRecord
  /** What each source says, if the talk is joined from several. */
  readonly joined?: JoinedContent
}

/** What a source says about a talk. */
export interface SourceContent {
  readonly fields: ItemFields
  readonly facts: readonly Fact[]
}

/** The sources of a talk, such as the schedule that has it and the playlist with its recording. */
export interface JoinedContent {
  /** What the source of the import says. */
  readonly own: SourceContent
  /** What other sources say, with the key that each of them has for the talk. */
  readonly others: readonly (SourceContent & { readonly source: string; readonly key: string })[]
}

/** Returns the fields of the record that a new talk becomes. */
export const fieldsOfNewRecord = ({ fallback, fields }: ImportItem): ItemFields => ({
  ...fallback,
  ...fields,
})

export type ItemFields = Partial<Omit<VideoInput, 'id' | 'slug' | 'added' | 'updated'>>

export interface OriginalRecord {
  /** Undefined if the file has no valid slug. */
  readonly slug: string | undefined
  readonly added: string
  readonly updated: string
  readonly revision: number
  readonly takenDown?: { readonly day: string; readonly reason: string }
}

/** Something that was dropped, guessed or repaired while reading. */
export interface ImportNote {
  readonly kind: 'dropped' | 'guessed' | 'repaired'
  /** A field of the file or of the record. */
  readonly field: string
  /** A sentence whose subject is the field: `was 12:00 in the file, converted to 720 seconds`. */
  readonly detail: string
}

/** An implausible value, which is imported all the same. */
export interface ImportWarning extends Omit<ImportNote, 'kind'> {
  readonly kind: 'warning'
  readonly code: WarningCode
}

/** A category described by the file. Talks refer to it by its title. */
export interface CategoryItem {
  readonly category: CategoryInput
}

/**
 * A speaker, tag or category with all its names, from a Talkshelf export or described by the file.
 * One whose name exists already stays as it is.
 */
export interface EntityItem {
  readonly place: string
  /** The id is 0 if the archive chooses it. */
  readonly entity: ExportedEntity
}

/** A part of the file that can't be imported. The rest of the file still is. */
export interface UnreadableItem {
  readonly place: string
  readonly unreadable: string
}

export type ParsedItem = ImportItem | CategoryItem | EntityItem | UnreadableItem

/** A file format that can be imported. */
export interface ImportFormat {
  readonly name: string
  /** A short description for lists of formats. */
  readonly about: string
  /**
   * Returns whether a file has this format, by its path and by its head: the first kilobytes, which
   * may be cut off anywhere.
   */
  recognises(head: string, path: string): boolean
  /** Reads items in the order of the file. Throws `InputRefused` if nothing can be read. */
  read(files: AsyncIterable<SourceFile>, options: ParseOptions): AsyncIterable<ParsedItem>
}

export interface ParseOptions {
  /**
   * The category of talks that have none. Replaces the title of the event in formats where a file
   * is one event.
   */
  readonly category: string | undefined
  /** The language of talks that have none. */
  readonly language: string | undefined
  /** The day of talks that have none. Replaces a day that is only guessed. */
  readonly recorded?: string | undefined
  /** Whether not to look for speakers in the titles of a playlist. */
  readonly keepTitles?: boolean | undefined
}

/** A file of the input, which can be a folder. It can be read once, as text or by lines. */
export interface SourceFile {
  /** Relative to the folder of the input. */
  readonly path: string
  /** Reads the whole text. Throws `InputRefused` if it is not UTF-8 or too large. */
  text(): Promise<string>
  /**
   * Reads lines without line ends, for files larger than memory. Throws `InputRefused` if a line is
   * too long.
   */
  lines(): AsyncIterable<string>
}

/** Reasons that entry points explain in their own words. */
export type RefusalCode = 'empty' | 'unknown-format' | OutboundErrorCode

/** The file can't be imported. The message says what is wrong and what to do. */
export class InputRefused extends Error {
  readonly code: RefusalCode | undefined

  constructor(message: string, code?: RefusalCode) {
    super(message)
    this.name = 'InputRefused'
    this.code = code
  }
}
