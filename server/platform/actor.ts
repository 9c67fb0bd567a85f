import type { Role } from '@talkshelf/contract'

/** The caller of a request. */
export interface Actor {
  readonly role: Role
  /** Name shown in the history. */
  readonly name: string
  readonly token: number | null
}

export const anyone: Actor = { role: 'anyone', name: '', token: null }

/** Where a change comes from: the caller, the entry point and the id of the request. */
export interface Origin {
  readonly actor: Actor
  readonly via: 'api' | 'import' | 'page' | 'command'
  readonly request: string
}
