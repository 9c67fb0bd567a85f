import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import { RelaxNGValidator, XmlDocument, type XmlLibError } from 'libxml2-wasm'
import { xmlRegisterFsInputProviders } from 'libxml2-wasm/lib/nodejs.mjs'
import sax from 'sax'

// Who says whether a document is what its specification says: schemas of our own (tests/schemas),
// held by engines that are not ours.

xmlRegisterFsInputProviders()
const folder = `${import.meta.dirname}/../schemas`
const grammars = new Map<string, RelaxNGValidator>()
const ajv = new Ajv()
const schemas = new Map<string, ValidateFunction>()

export type Grammar = 'atom' | 'rss' | 'sitemap' | 'opensearch' | 'oembed'

/** Well-formed for two parsers, and valid. */
export function assertXml(grammar: Grammar, text: string, what = ''): void {
  const parser = sax.parser(true, { xmlns: true })
  parser.onerror = (error) => assert.fail(`${what}: sax: ${error.message}`)
  parser.write(text).close()
  const document = guarded(what, text, () => XmlDocument.fromString(text))
  try {
    guarded(what, text, () => grammarOf(grammar).validate(document))
  } finally {
    document.dispose()
  }
}

export function assertJson(schema: 'jsonfeed' | 'oembed', text: string, what = ''): void {
  const check =
    schemas.get(schema) ?? ajv.compile(JSON.parse(readFileSync(`${folder}/${schema}.json`, 'utf8')))
  schemas.set(schema, check)
  assert.ok(
    check(JSON.parse(text)),
    `${what}: ${ajv.errorsText(check.errors)}\n${text.slice(0, 2000)}`,
  )
}

function grammarOf(name: Grammar): RelaxNGValidator {
  let it = grammars.get(name)
  if (!it) {
    const file = `${folder}/${name}.rng`
    const document = XmlDocument.fromBuffer(readFileSync(file), { url: file })
    it = RelaxNGValidator.fromDoc(document)
    document.dispose()
    grammars.set(name, it)
  }
  return it
}

function guarded<T>(what: string, text: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const told = (error as XmlLibError).details?.map(
      ({ line, message }) => `${line}: ${message.trim()}`,
    ) ?? [String(error)]
    return assert.fail(`${what}: ${told.join('; ')}\n${text.slice(0, 3000)}`)
  }
}
