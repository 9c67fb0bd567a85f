import { readdirSync, readFileSync } from 'node:fs'
import {
  type ImportFormat,
  type ImportItem,
  InputRefused,
  type ParsedItem,
  type ParseOptions,
  type SourceFile,
} from '../../server/imports/item.ts'

// The sample files of the formats, and what a format reads of them.

const samples = new URL('../../server/imports/formats/samples/', import.meta.url)
const nothing: ParseOptions = { category: undefined, language: undefined }

export const sample = (name: string) => readFileSync(new URL(name, samples), 'utf8')

/** But for folders. */
export const sampleNames = () =>
  readdirSync(samples, { withFileTypes: true }).flatMap((it) => (it.isFile() ? it.name : []))

async function* files(texts: Readonly<Record<string, string>>): AsyncGenerator<SourceFile> {
  for (const [path, text] of Object.entries(texts))
    yield { path, text: async () => text, async *lines() {} }
}

/** Reads texts by their names. */
export async function readings(
  format: ImportFormat,
  texts: Readonly<Record<string, string>>,
  options = nothing,
): Promise<ParsedItem[]> {
  const all: ParsedItem[] = []
  for await (const reading of format.read(files(texts), options)) all.push(reading)
  return all
}

export const drafts = (all: readonly ParsedItem[]) =>
  all.filter((it): it is ImportItem => 'fields' in it)
export const skipped = (all: readonly ParsedItem[]) =>
  all.flatMap((it) => ('unreadable' in it ? `${it.place}: ${it.unreadable}` : []))
export const assertRefused = (what: RegExp) => (error: Error) =>
  error instanceof InputRefused && what.test(error.message)
