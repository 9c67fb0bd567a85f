import { access, constants, mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

// Helpers for commands and jobs that write files.

const writeHints: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full. Free some space, or choose a path on another disk.',
  EDQUOT: 'The disk quota is exceeded. Free some space, or choose a path on another disk.',
  ENOENT: 'The parent folder does not exist. Create it first.',
  EEXIST: 'A file with this name already exists. Choose another name.',
  ENOTDIR: 'A part of the path is a file, not a folder.',
  EISDIR: 'This is a folder. Choose the path of a file.',
  EACCES: 'Permission denied. Choose a folder that you can write to.',
  EPERM: 'Permission denied. Choose a folder that you can write to.',
  EROFS: 'The file system is read-only. Choose a path on another one.',
}

/**
 * Returns a message for the user if an error is one that writing a file can be expected to cause,
 * such as a full disk: the error of the system, and what to do about it.
 */
export function describeWriteError(error: unknown, path: string): string | undefined {
  const { code = '', message } = error as NodeJS.ErrnoException
  const hint = writeHints[code]
  return hint && `Cannot write ${path}: ${message}.\n${hint}`
}

/**
 * Creates a folder with its parents. The recursive `mkdir` of Node never ends where that is
 * impossible, such as in /proc.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return
    const parent = dirname(path)
    if (code !== 'ENOENT' || parent === path) throw error
    await makeFolder(parent)
    await mkdir(path).catch((reason: NodeJS.ErrnoException) => {
      if (reason.code !== 'EEXIST') throw reason
    })
  }
}

/**
 * Creates a folder if it is missing, and returns in one line why no files can be written to it.
 * Undefined if they can.
 */
export async function findFolderProblem(path: string): Promise<string | undefined> {
  try {
    await makeFolder(path)
    await access(path, constants.W_OK)
    return undefined
  } catch (error) {
    return (describeWriteError(error, path) ?? `Cannot write ${path}: ${error}`).replace('\n', ' ')
  }
}

/** Makes a rename durable: the folder stores the names of its files. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  await handle.sync().finally(() => handle.close())
}
