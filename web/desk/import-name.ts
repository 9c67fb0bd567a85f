import { editFormat, type Import, operationKinds } from '@talkshelf/contract'
import type { DeskMessages } from '../messages/desk-en.ts'

/**
 * Returns the name of an import. The default name of a bulk edit has its operations, which are
 * translated: "set copyright_text" becomes "Set Licence".
 */
export function importName(
  { name, format }: Pick<Import, 'name' | 'format'>,
  { bulk, imports }: DeskMessages,
): string {
  if (format !== editFormat) return name
  const translate = (part: string) => {
    const [word, field = ''] = part.split(' ')
    const operation = operationKinds.find((kind) => kind === word)
    const label = imports.fields[field]
    return operation && label ? `${bulk.operations[operation]} ${label}` : part
  }
  return name.split(', ').map(translate).join(', ')
}
