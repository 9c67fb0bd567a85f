import type { Role } from '@talkshelf/contract'

/** The caller of a request. */
export interface Actor {
  readonly role: Role
  /** Name shown in the history. */
  readonly name: string
  readonly token: number | null
  /** Id of the person who is signed in. */
  readonly person?: number | null
  /** Ids of the only events whose talks the actor may change. Undefined: there is no limit. */
  readonly events?: readonly number[] | undefined
}

export const anyone: Actor = { role: 'anyone', name: '', token: null }

/** Where a change comes from: the caller, the entry point and the id of the request. */
export interface Origin {
  readonly actor: Actor
  readonly via: 'api' | 'import' | 'page' | 'command' | 'check'
  readonly request: string
  /** Id of the suggestion that an editor accepted with the change. */
  readonly suggestion?: number
}
