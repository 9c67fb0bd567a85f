import { csv } from './formats/csv.ts'
import { pyvideo } from './formats/pyvideo.ts'
import { schedule } from './formats/schedule.ts'
import { v2 } from './formats/v2.ts'
import { voctoweb } from './formats/voctoweb.ts'
import { ytdlp } from './formats/ytdlp.ts'
import { type ImportFormat, InputRefused } from './item.ts'

/** All formats in the order of detection: those that are recognised with certainty come first. */
export const formats: readonly ImportFormat[] = [ytdlp, voctoweb, schedule, pyvideo, v2, csv]

/**
 * Finds a format by its name, or by the head of the file (its first kilobytes) and its path if
 * there is no name. Throws `InputRefused` if no format matches.
 */
export function detectFormat(name: string | undefined, head: string, path: string): ImportFormat {
  const list = formats.map((format) => `  ${format.name.padEnd(10)} ${format.about}`).join('\n')
  if (name !== undefined) {
    const named = formats.find((format) => format.name === name)
    if (!named) throw new InputRefused(`Unknown format ${name}. Supported formats:\n${list}`)
    return named
  }
  const detected = formats.find((format) => format.recognises(head, path))
  if (detected) return detected
  throw new InputRefused(
    `The format of ${path} was not recognised. Supported formats:\n${list}\n` +
      'If it is one of them, choose it: --format NAME, or the field format of the request',
    'unknown-format',
  )
}
