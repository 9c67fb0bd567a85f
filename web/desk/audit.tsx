import { deskPaths } from '../paths.ts'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

export interface AuditData {
  readonly events: readonly {
    readonly id: number
    readonly at: string
    readonly actor: string
    readonly kind: string
    readonly subject: string | null
    readonly detail: Readonly<Record<string, unknown>>
  }[]
  /** The id of the last event of this page, if there are more. */
  readonly next: number | undefined
}

/** The audit log, the latest event first. */
export function Audit({ events, next }: AuditData) {
  const { words, time, href } = useDesk()
  return (
    <DeskLayout title={words.audit}>
      <p class="help">{words.auditHelp}</p>
      {events.length === 0 ? (
        <p>{words.auditEmpty}</p>
      ) : (
        <section class="scroll" tabindex={0} aria-label={words.audit}>
          <table>
            <thead>
              <tr>
                <th scope="col">{words.when}</th>
                <th scope="col">{words.who}</th>
                <th scope="col">{words.what}</th>
                <th scope="col">{words.details}</th>
              </tr>
            </thead>
            <tbody>
              {events.map(({ id, at, actor, kind, subject, detail }) => (
                <tr key={id}>
                  <td>
                    <time dateTime={at}>{time(at)}</time>
                  </td>
                  <td>{actor}</td>
                  <td>
                    {words.auditKinds[kind] ?? kind} {subject !== actor && subject}
                  </td>
                  <td>{formatDetail(detail)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {next !== undefined && (
        <p>
          <a href={href(`${deskPaths.audit}?before=${next}`)}>{words.older}</a>
        </p>
      )}
    </DeskLayout>
  )
}

/** Formats the details of an event: `role: editor`, or `role: editor → admin`. */
function formatDetail({ before, after, ...detail }: Readonly<Record<string, unknown>>): string {
  const changes = Object.entries((after ?? {}) as Record<string, unknown>)
    .map(([key, value]) => [key, (before as Record<string, unknown>)[key], value])
    .filter(([, old, value]) => old !== value)
    .map(([key, old, value]) => `${key}: ${old} → ${value}`)
  return [...changes, ...Object.entries(detail).map(([key, value]) => `${key}: ${value}`)].join(
    ', ',
  )
}
