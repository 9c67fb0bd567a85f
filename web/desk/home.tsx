import { deskPaths } from '../paths.ts'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

export interface DeskHomeData {
  readonly hasPasskey: boolean
}

/** The first page of the desk. */
export function DeskHome({ hasPasskey }: DeskHomeData) {
  const { words, href, person } = useDesk()
  const isEditor = person !== undefined && person.role !== 'suggester'
  const mayEdit = isEditor || (person?.events.length ?? 0) > 0
  return (
    <DeskLayout title={words.welcome(person?.name ?? '')}>
      {!hasPasskey && (
        <p class="notice">
          <a href={href(deskPaths.account)}>{words.addPasskeyFirst}</a>
        </p>
      )}
      {mayEdit && (
        <p>
          <a href={href(deskPaths.talks)}>{words.homeTalks}</a>
        </p>
      )}
      {isEditor && (
        <p>
          <a href={href(deskPaths.quality)}>{words.quality.homeLink}</a>
        </p>
      )}
      {isEditor && (
        <p>
          <a href={href(deskPaths.imports)}>{words.imports.homeLink}</a>
        </p>
      )}
      {!mayEdit && <p>{words.homeNothing}</p>}
    </DeskLayout>
  )
}
