import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import { RelaxNGValidator, XmlDocument, type XmlLibError } from 'libxml2-wasm'
import { xmlRegisterFsInputProviders } from 'libxml2-wasm/lib/nodejs.mjs'
import sax from 'sax'

// Validates documents against the schemas in tests/schemas, with third-party validators.

xmlRegisterFsInputProviders()
const folder = `${import.meta.dirname}/../schemas`
const grammars = new Map<string, RelaxNGValidator>()
const ajv = new Ajv()
const schemas = new Map<string, ValidateFunction>()

export type Grammar = 'atom' | 'rss' | 'sitemap' | 'opensearch' | 'oembed'

/** Asserts that a document is well-formed for two parsers, and valid. */
export function assertXml(grammar: Grammar, text: string, name = ''): void {
  const parser = sax.parser(true, { xmlns: true })
  parser.onerror = (error) => assert.fail(`${name}: sax: ${error.message}`)
  parser.write(text).close()
  const document = withDetails(name, text, () => XmlDocument.fromString(text))
  try {
    withDetails(name, text, () => grammarOf(grammar).validate(document))
  } finally {
    document.dispose()
  }
}

/** Asserts that a JSON document is valid. */
export function assertJson(schema: 'jsonfeed' | 'oembed', text: string, name = ''): void {
  const validate =
    schemas.get(schema) ?? ajv.compile(JSON.parse(readFileSync(`${folder}/${schema}.json`, 'utf8')))
  schemas.set(schema, validate)
  assert.ok(
    validate(JSON.parse(text)),
    `${name}: ${ajv.errorsText(validate.errors)}\n${text.slice(0, 2000)}`,
  )
}

function grammarOf(name: Grammar): RelaxNGValidator {
  let validator = grammars.get(name)
  if (!validator) {
    const file = `${folder}/${name}.rng`
    const document = XmlDocument.fromBuffer(readFileSync(file), { url: file })
    validator = RelaxNGValidator.fromDoc(document)
    document.dispose()
    grammars.set(name, validator)
  }
  return validator
}

/** Adds the document and all details to the message of an error. */
function withDetails<T>(name: string, text: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const details = (error as XmlLibError).details?.map(
      ({ line, message }) => `${line}: ${message.trim()}`,
    ) ?? [String(error)]
    return assert.fail(`${name}: ${details.join('; ')}\n${text.slice(0, 3000)}`)
  }
}
