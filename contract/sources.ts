import type { Static } from 'typebox'
import { oneOf } from './formats.ts'

// Sources: the places where the videos of talks are, and whether they are still there.

export const sourceKinds = [
  'youtube',
  'vimeo',
  'peertube',
  'voctoweb',
  'archive.org',
  'file',
  'page',
] as const
export type SourceKind = (typeof sourceKinds)[number]

/** The video is there, but cannot be played here by everybody. */
export const limitedStates = ['embed-off', 'region', 'age', 'moved'] as const
/** The video is not there any more. */
export const awayStates = ['gone', 'private', 'removed', 'closed'] as const

export const sourceStates = [
  'new',
  'ok',
  'suspect',
  'unreachable',
  ...limitedStates,
  ...awayStates,
] as const
export const SourceState = oneOf(
  sourceStates,
  '`new`: not checked yet. `ok`: it is there. `suspect`: the last check was bad, editors only. ' +
    '`unreachable`: its host has not answered for weeks. `embed-off`: it plays only at its host. ' +
    '`region`: not in all countries. `age`: only for adults. `moved`: at another URL. `gone`: it ' +
    'does not exist. `private`: its owner hides it. `removed`: its owner or host removed it. ' +
    '`closed`: the account of its owner is gone',
)
export type SourceState = Static<typeof SourceState>

/** How a check of a source can end: `odd` and `refused` say nothing about the video. */
export const verdicts = ['ok', ...limitedStates, ...awayStates, 'odd', 'refused'] as const
export type Verdict = (typeof verdicts)[number]
