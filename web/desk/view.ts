import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { DeskMessages } from '../messages/desk-en.ts'
import { deskMessages } from '../messages/desk-messages.ts'
import { prepareView, type View } from '../view.ts'

// The view that every page of the desk has access to.

export interface DeskView extends View {
  /** The person who is signed in. */
  readonly person: DeskPerson | undefined
  /** Returns the token of a form, by the path of its target. */
  formToken(path: string): string
  /** What was just done, to be confirmed on the page. */
  readonly done: string | undefined
}

export interface DeskPerson {
  readonly name: string
  readonly role: 'suggester' | 'editor' | 'admin'
  /** Ids of the events that the person edits. */
  readonly events: readonly number[]
}

interface DeskPageView extends Omit<ReturnType<typeof prepareView>, 'words'>, DeskView {
  readonly words: DeskMessages
  /** Formats a timestamp, in UTC. */
  time(timestamp: string): string
  /** Formats how long ago a time was, in the largest unit. */
  age(timestamp: string): string
}

export const DeskContext = createContext<DeskPageView | undefined>(undefined)

/** Returns the view of the current page. */
export function useDesk(): DeskPageView {
  const view = useContext(DeskContext)
  if (!view) throw new Error('useDesk was called outside of a page of the desk')
  return view
}

/** Adds messages and formatting functions to a view. */
export function prepareDeskView(view: DeskView): DeskPageView {
  const times = new Intl.DateTimeFormat(view.locale, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'UTC',
  })
  return {
    ...prepareView(view),
    person: view.person,
    formToken: view.formToken,
    done: view.done,
    words: deskMessages[view.locale],
    age: (timestamp) => formatAge(view.locale, new Date(timestamp), new Date()),
    time: (timestamp) => `${times.format(new Date(timestamp))} UTC`,
  }
}

const units = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** Formats the time between two moments in the largest unit: "3 days ago", "in 2 hours". */
export function formatAge(locale: string, then: Date, now: Date): string {
  const seconds = (then.getTime() - now.getTime()) / 1000
  const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['minute', 60]
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  return format.format(Math.trunc(seconds / length), unit)
}
