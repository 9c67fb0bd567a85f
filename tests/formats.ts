import { readdirSync, readFileSync } from 'node:fs'
import { type Draft, type Format, type Reading, type ReadOptions, Refused, type SourceFile } from '../server/imports/draft.ts'

// The sample files of the formats, and what a format reads of them.

const samples = new URL('../server/imports/formats/samples/', import.meta.url)
const nothing: ReadOptions = { category: undefined, language: undefined }

export const sample = (name: string) => readFileSync(new URL(name, samples), 'utf8')

/** But for folders. */
export const sampleNames = () => readdirSync(samples, { withFileTypes: true }).flatMap((it) => (it.isFile() ? it.name : []))

async function* files(texts: Readonly<Record<string, string>>): AsyncGenerator<SourceFile> {
  for (const [path, text] of Object.entries(texts)) yield { path, text: async () => text, async *lines() {} }
}

/** Reads texts by their names. */
export async function readings(format: Format, texts: Readonly<Record<string, string>>, options = nothing): Promise<Reading[]> {
  const all: Reading[] = []
  for await (const reading of format.read(files(texts), options)) all.push(reading)
  return all
}

export const drafts = (all: readonly Reading[]) => all.filter((it): it is Draft => 'fields' in it)
export const skipped = (all: readonly Reading[]) => all.flatMap((it) => ('unreadable' in it ? `${it.place}: ${it.unreadable}` : []))
export const refused = (what: RegExp) => (error: Error) => error instanceof Refused && what.test(error.message)
