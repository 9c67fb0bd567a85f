import { startFuzzService } from './service.ts'
import type { FuzzTarget, TargetService } from './target.ts'
import { addressTargets } from './targets/addresses.ts'
import { headerTargets } from './targets/headers.ts'
import { httpTargets } from './targets/http.ts'
import { importTargets } from './targets/imports.ts'
import { jsonTargets } from './targets/json.ts'
import { linkTargets } from './targets/links.ts'
import { pictureTargets } from './targets/pictures.ts'
import { plantedTargets } from './targets/planted.ts'
import { textTargets } from './targets/texts.ts'

// All parsers of untrusted input. Add a new parser to one of the files in targets/.

let service: TargetService | undefined
const runningService = () => {
  if (!service) throw new Error('The service was not started')
  return service
}

export const allTargets: readonly (FuzzTarget & {
  readonly needsService?: true
  readonly isPlanted?: true
})[] = [
  ...jsonTargets,
  ...headerTargets,
  ...addressTargets,
  ...textTargets,
  ...importTargets,
  ...linkTargets,
  ...pictureTargets,
  ...httpTargets(runningService).map((target) => ({ ...target, needsService: true as const })),
  ...plantedTargets.map((target) => ({ ...target, isPlanted: true as const })),
]

/** Returns the targets with these names, and starts the service if they need it. */
export async function openTargets(
  names: readonly string[],
  databaseUrl: string,
): Promise<{ targets: readonly FuzzTarget[]; close(): Promise<void> }> {
  const targets = names.map(
    (name) => allTargets.find((target) => target.name === name) as (typeof allTargets)[number],
  )
  if (!targets.some(({ needsService }) => needsService)) return { targets, close: async () => {} }
  const started = await startFuzzService(databaseUrl)
  service = started
  return { targets, close: started.close }
}
