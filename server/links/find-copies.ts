import { awayStates, type ReplacementFinder } from '@talkshelf/contract'
import { OutboundError } from '../platform/net/outbound.ts'
import { type Checker, Disallowed, openAsk } from './ask.ts'
import { NotNow } from './paced-host.ts'
import { identify } from './probes/probes.ts'
import {
  findItem,
  findWaybackFile,
  findWaybackVideo,
  type Replacement,
} from './probes/replacements.ts'
import { type CheckedSource, isOnlyCopy, saveSearch } from './queries.ts'
import { proposeReplacement } from './replacements/replacements.ts'

// Searches copies of sources at archive.org, and proposes what it finds. Editors decide.

const yearMs = 365 * 24 * 3_600_000

/**
 * Searches copies of a source that went away since the last search; once a year also of one that is
 * the only copy of a talk. Does nothing while archive.org may not be asked.
 */
export async function findCopies(
  checker: Checker,
  source: CheckedSource,
  now: number,
): Promise<void> {
  const { pool } = checker
  if (!(await isSearchDue(checker, source, now))) return
  const probed = identify(source.url)
  const finders = finderOf(checker, probed?.kind, probed?.id ?? '')
  try {
    for (const [finder, find] of finders) {
      const found = await find().catch((error) => {
        if (!(error instanceof Disallowed)) throw error
      })
      if (!found) continue
      await proposeReplacement(pool, { source: source.id, finder, ...found })
      break
    }
    await saveSearch(pool, source.id, now)
  } catch (error) {
    // It is searched after the next check.
    if (!(error instanceof OutboundError || error instanceof NotNow)) throw error
  }
}

async function isSearchDue(
  { pool }: Checker,
  { id, lastCheck, copiesSearched, health }: CheckedSource,
  now: number,
): Promise<boolean> {
  const isAway = (awayStates as readonly string[]).includes(health.state)
  if (isAway) return copiesSearched === null || copiesSearched < health.since
  // The first checks of a new archive are about what is there.
  if (lastCheck === null || (copiesSearched !== null && now - copiesSearched < yearMs)) return false
  return isOnlyCopy(pool, id)
}

type Finder = readonly [ReplacementFinder, () => Promise<Replacement | undefined>]

function finderOf(checker: Checker, kind: string | undefined, id: string): readonly Finder[] {
  const ask = openAsk(checker, 'archive.org', undefined)
  if (kind === 'youtube')
    return [
      ['archive.org', () => findItem(ask, id)],
      ['wayback', () => findWaybackVideo(ask, id)],
    ]
  return kind === 'file' ? [['wayback', () => findWaybackFile(ask, id)]] : []
}
