import { readdirSync, readFileSync } from 'node:fs'
import {
  type ImportFormat,
  type ImportItem,
  InputRefused,
  type ParsedItem,
  type ParseOptions,
  type SourceFile,
} from '../../server/imports/item.ts'

// Reads the sample files of the import formats.

const samples = new URL('../../server/imports/formats/samples/', import.meta.url)
const noOptions: ParseOptions = { category: undefined, language: undefined }

/** Reads a sample file. */
export const sample = (name: string) => readFileSync(new URL(name, samples), 'utf8')

/** Lists the sample files, without folders. */
export const sampleNames = () =>
  readdirSync(samples, { withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? entry.name : [],
  )

/** Lists the sample files of a format: their names begin with its name, without punctuation. */
export const samplesOf = ({ name }: ImportFormat) =>
  sampleNames().filter((file) => file.startsWith(`${name.replaceAll(/\W/g, '')}-`))

async function* files(texts: Readonly<Record<string, string>>): AsyncGenerator<SourceFile> {
  for (const [path, text] of Object.entries(texts))
    yield {
      path,
      text: async () => text,
      async *lines() {
        yield* text.split(/\r?\n/)
      },
    }
}

/** Reads texts, given by file name, with a format. */
export async function readItems(
  format: ImportFormat,
  texts: Readonly<Record<string, string>>,
  options = noOptions,
): Promise<ParsedItem[]> {
  const items: ParsedItem[] = []
  for await (const item of format.read(files(texts), options)) items.push(item)
  return items
}

/** Returns the talks, without categories, entities and unreadable items. */
export const talksOf = (items: readonly ParsedItem[]) =>
  items.filter((item): item is ImportItem => 'fields' in item)

/** Describes the items that could not be read. */
export const skipped = (items: readonly ParsedItem[]) =>
  items.flatMap((item) => ('unreadable' in item ? `${item.place}: ${item.unreadable}` : []))

/** Returns a check for assert.rejects: the input is refused with this message. */
export const assertRefused = (message: RegExp) => (error: Error) =>
  error instanceof InputRefused && message.test(error.message)
