import { deskPaths } from '../paths.ts'
import { Field, FileField, Form } from './form.tsx'
import { Started } from './imports.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

export interface MatchesData {
  readonly matches: readonly {
    readonly id: number
    readonly name: string
    readonly event: string
    readonly created: string
    readonly by: string
  }[]
  readonly form: MatchFormData
}

export interface MatchFormData {
  /** The limit of both files together. */
  readonly maxBytes: number
  /** What the form contained, if it was refused. */
  readonly values?: Readonly<Record<string, string>>
  /** Errors by field: a name in the messages, or a text of the server. */
  readonly errors?: Readonly<Partial<Record<'schedule' | 'playlist' | 'event', string>>>
}

/** The form that starts a match, and the list of recent ones. */
export function Matches({ matches, form }: MatchesData) {
  const { words } = useDesk()
  const text = words.matches
  return (
    <DeskLayout title={text.title}>
      <section>
        <h2>{text.start}</h2>
        <p class="help">{text.startHelp}</p>
        <StartForm {...form} />
      </section>
      <section>
        <h2>{text.list}</h2>
        {matches.length === 0 ? <p>{text.none}</p> : <MatchTable matches={matches} />}
      </section>
    </DeskLayout>
  )
}

function MatchTable({ matches }: Pick<MatchesData, 'matches'>) {
  const { words, href } = useDesk()
  const text = words.matches
  const columns = [text.event, text.files, words.imports.by, words.imports.started]
  return (
    <section class="scroll" tabindex={0} aria-label={text.list}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {matches.map(({ id, name, event, created, by }) => (
            <tr key={id}>
              <td class="long">
                <a href={href(deskPaths.match(id))}>
                  <bdi>{event}</bdi>
                </a>
              </td>
              <td class="long">
                <bdi>{name}</bdi>
              </td>
              <td>
                <bdi>{by}</bdi>
              </td>
              <td>
                <Started at={created} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function StartForm({ maxBytes, values = {}, errors = {} }: MatchFormData) {
  const { words } = useDesk()
  const text = words.matches
  const errorOf = (name: 'schedule' | 'playlist' | 'event') => {
    const error = errors[name]
    return error === undefined ? undefined : (text.errors[error] ?? error)
  }
  const sides = [
    ['schedule', text.schedule, text.scheduleHelp, text.scheduleUrl],
    ['playlist', text.playlist, text.playlistHelp, text.playlistUrl],
  ] as const
  return (
    <Form action={deskPaths.matches} enctype="multipart/form-data">
      <Field
        label={`${text.event} (${words.optional})`}
        help={text.eventHelp}
        error={errorOf('event')}
        name="event"
        value={values.event}
        maxLength={255}
        autocomplete="off"
      />
      {sides.map(([name, , , url]) => (
        <Field
          key={name}
          label={`${url} (${words.optional})`}
          name={`${name}_url`}
          type="url"
          value={values[`${name}_url`]}
          maxLength={2048}
          autocomplete="off"
        />
      ))}
      {sides.map(([name, label, help]) => (
        <FileField
          key={name}
          name={name}
          label={label}
          help={help}
          error={errorOf(name)}
          maxBytes={maxBytes}
          tooLarge={text.errors['too-large'] ?? ''}
        />
      ))}
      {Object.keys(errors).length > 0 && <p class="help">{text.errors.again}</p>}
      <button type="submit">{text.button}</button>
    </Form>
  )
}
