import { csv } from './formats/csv.ts'
import { pyvideo } from './formats/pyvideo.ts'
import { schedule } from './formats/schedule.ts'
import { v2 } from './formats/v2.ts'
import { voctoweb } from './formats/voctoweb.ts'
import { ytdlp } from './formats/ytdlp.ts'
import { type ImportFormat, InputRefused } from './item.ts'

/**
 * Every format, in the order in which a file is held against them: those that can be told for sure
 * come first.
 */
export const formats: readonly ImportFormat[] = [ytdlp, voctoweb, schedule, pyvideo, v2, csv]

/** By its name, or by how the file begins. */
export function detectFormat(name: string | undefined, begin: string, path: string): ImportFormat {
  const known = formats.map((format) => `  ${format.name.padEnd(10)} ${format.about}`).join('\n')
  if (name !== undefined) {
    const named = formats.find((format) => format.name === name)
    if (!named) throw new InputRefused(`There is no format ${name}. There are:\n${known}`)
    return named
  }
  const found = formats.find((format) => format.recognises(begin, path))
  if (found) return found
  throw new InputRefused(
    `${path} is none of the formats that can be read:\n${known}\nIf it is one of them, say which: --format NAME`,
  )
}
