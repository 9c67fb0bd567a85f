import { deskPaths } from '../paths.ts'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

export interface DeskHomeData {
  readonly hasPasskey: boolean
}

/** The first page of the desk. */
export function DeskHome({ hasPasskey }: DeskHomeData) {
  const { words, href, person } = useDesk()
  const isAdmin = person?.role === 'admin'
  return (
    <DeskLayout title={words.welcome(person?.name ?? '')}>
      {!hasPasskey && (
        <p class="notice">
          <a href={href(deskPaths.account)}>{words.addPasskeyFirst}</a>
        </p>
      )}
      {isAdmin && <p>{words.homeHelp}</p>}
      {(isAdmin || person?.role === 'editor') && (
        <p>
          <a href={href(deskPaths.imports)}>{words.imports.homeLink}</a>
        </p>
      )}
      {person?.role === 'suggester' && <p>{words.homeNothing}</p>}
    </DeskLayout>
  )
}
