import type { Role } from '@talkshelf/contract'

/** Who is asking. */
export interface Actor {
  readonly role: Role
  /** The name that the history shows. */
  readonly name: string
  readonly token: number | null
}

export const anyone: Actor = { role: 'anyone', name: '', token: null }

/** How a change came in: which way, and the id of the request that brought it. */
export interface Origin {
  readonly actor: Actor
  readonly via: 'api' | 'import' | 'page' | 'command'
  readonly request: string
}
