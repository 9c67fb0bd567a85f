import { readFile, stat, writeFile } from 'node:fs/promises'
import { validationErrors } from '@talkshelf/contract'
import Type, { type Static } from 'typebox'
import {
  type AuditOrigin,
  GrantedAccess,
  readGrantedAccess,
  recordEvent,
  restrictGrantedAccess,
} from '../auth/auth.ts'
import { CommandError } from '../command.ts'
import type { Pool } from '../platform/db/pool.ts'
import { listLinkHashes, revokeLinksExcept } from '../speaker-links/speaker-links.ts'

// Who has access to the archive, saved to a file. A restored database knows nothing of what was
// revoked after its backup: it is restricted to what the file grants.

const SavedAccess = Type.Object({
  format: Type.Literal(1),
  saved: Type.String({ maxLength: 40 }),
  granted: GrantedAccess,
  /** Links of speakers. */
  speaker_links: Type.Array(Type.String({ maxLength: 100 })),
})
type SavedAccess = Static<typeof SavedAccess>

const maxFileBytes = 64 * 1024 * 1024

/** Access of nobody. */
const nobody: Pick<SavedAccess, 'granted' | 'speaker_links'> = {
  granted: { tokens: [], people: {}, passkeys: [], accounts: [], event_editors: [] },
  speaker_links: [],
}

/** Writes to a new file who has access. Returns how many tokens and people. */
export async function saveAccess(pool: Pool, file: string) {
  const saved = await pool.transaction(
    async (tx): Promise<SavedAccess> => ({
      format: 1,
      saved: new Date().toISOString(),
      granted: await readGrantedAccess(tx),
      speaker_links: await listLinkHashes(tx),
    }),
  )
  await writeFile(file, `${JSON.stringify(saved, undefined, 2)}\n`, {
    flag: 'wx',
    mode: 0o600,
    flush: true,
  }).catch((error: Error) => {
    throw new CommandError(`${error.message}\nChoose a new file in a folder that you can write to.`)
  })
  const { tokens, people } = saved.granted
  return { tokens: tokens.length, people: Object.keys(people).length }
}

/** Reads a file that saveAccess wrote. */
async function readAccessFile(file: string): Promise<SavedAccess> {
  const refuse = (reason: string): never => {
    throw new CommandError(
      `${file} ${reason}.\nUse a file that 'talkshelf access save' wrote, or --all.`,
    )
  }
  const info = await stat(file).catch((error: Error) => refuse(`cannot be read: ${error.message}`))
  if (info.size > maxFileBytes) refuse('is too large')
  let content: unknown
  try {
    content = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    refuse(`cannot be read: ${(error as Error).message}`)
  }
  const [problem] = validationErrors(SavedAccess, content)
  if (problem) refuse(`is not a list of access: ${problem.pointer.slice(1)} ${problem.detail}`)
  return content as SavedAccess
}

/**
 * Takes away all access that a file does not grant; without a file, all access. Ends all sessions.
 * Running it again changes nothing more. Returns how much was taken away, by kind.
 */
export async function restrictAccess(pool: Pool, file: string | undefined, origin: AuditOrigin) {
  const { granted, speaker_links } = file === undefined ? nobody : await readAccessFile(file)
  return pool.transaction(async (tx) => {
    const counts = {
      ...(await restrictGrantedAccess(tx, granted)),
      speaker_links: await revokeLinksExcept(tx, speaker_links),
    }
    await recordEvent(tx, 'access-restricted', origin, null, counts)
    return counts
  })
}
