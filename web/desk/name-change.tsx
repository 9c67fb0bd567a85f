import { deskPaths } from '../paths.ts'
import { Field, Form, TextArea } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

// Changes the name of a speaker permanently.

interface ListedChange {
  readonly id: number
  readonly state: 'planning' | 'planned' | 'applying' | 'applied' | 'discarded'
  readonly actor: string
  readonly created: string
}

export interface SpeakerNameData {
  readonly slug: string
  /** The current name. */
  readonly title: string
  /** The new name in the form. */
  readonly name: string
  /** One per line. */
  readonly oldNames: string
  readonly inLinks: boolean
  readonly errors: Readonly<Record<string, string>>
  readonly changes: readonly ListedChange[]
  /** How many names are replaced in imports. */
  readonly formerNames: number
}

/** The form of a name change, and those that were made. */
export function SpeakerName(data: SpeakerNameData) {
  const { slug, title, name, oldNames, inLinks, errors, changes, formerNames } = data
  const { words, href, time } = useDesk()
  const text = words.nameChanges
  const path = deskPaths.speakerName(slug)
  return (
    <DeskLayout title={text.title(title)}>
      <p>
        <a href={href(deskPaths.speaker(slug))}>{words.entities.back}</a>
      </p>
      <p>{text.help}</p>
      <p class="notice">{text.permanent}</p>
      <Form action={path}>
        <Field
          label={text.newName}
          name="name"
          value={name}
          error={errors.name}
          maxLength={255}
          autocomplete="off"
          required
        />
        <TextArea
          label={text.oldNames}
          name="old_names"
          value={oldNames}
          help={text.oldNamesHelp}
          error={errors.old_names}
        />
        <label class="choice">
          <input type="checkbox" name="in_links" value="1" checked={inLinks} /> {text.inLinks}
        </label>
        <button type="submit">{text.search}</button>
      </Form>
      {changes.length > 0 && (
        <section>
          <h2>{text.changes}</h2>
          <ul class="rows">
            {changes.map(({ id, state, actor, created }) => (
              <li key={id}>
                <a href={href(deskPaths.nameChange(id))}>{text.states[state]}</a>
                <p class="help">
                  <bdi>{actor}</bdi>, <time dateTime={created}>{time(created)}</time>
                </p>
              </li>
            ))}
          </ul>
        </section>
      )}
      {formerNames > 0 && (
        <section>
          <h2>{text.imports}</h2>
          <p>{text.importsHelp}</p>
        </section>
      )}
    </DeskLayout>
  )
}

interface ListedPlace {
  readonly position: number
  readonly subject: string
  readonly subject_id: number
  readonly field: string
  readonly title: string
  readonly before: string
  readonly after: string
  readonly rows: number
  readonly is_kept: boolean
  readonly refusal: string | null
}

export interface NameChangeData {
  readonly change: ListedChange & {
    readonly speaker_id: number
    readonly names: readonly { readonly old: string; readonly new: string }[] | null
    readonly table_name: string
    readonly total: number
    readonly problem: 'too-slow' | 'failed' | null
  }
  readonly speaker: { readonly name: string; readonly slug: string }
  readonly counts: { readonly places: number; readonly rows: number; readonly kept: number }
  readonly places: readonly ListedPlace[]
  /** The position after which the next page begins. */
  readonly next: number | undefined
  /** Why it was not applied. */
  readonly error: string | undefined
}

/** A name change: its plan with a checkbox for each occurrence, its progress, or what it did. */
export function NameChangePage(data: NameChangeData) {
  const { change, speaker, counts, places, error } = data
  const { words, href, number } = useDesk()
  const text = words.nameChanges
  const path = deskPaths.nameChange(change.id)
  const isRunning = change.state === 'planning' || change.state === 'applying'
  const hasRemaining = change.state === 'applied' && places.length > 0
  return (
    <DeskLayout title={text.title(speaker.name)} refresh={isRunning ? path : undefined}>
      <p>
        <a href={href(deskPaths.speaker(speaker.slug))}>{words.entities.back}</a>
      </p>
      {error !== undefined && (
        <p class="notice" role="alert">
          {error}
        </p>
      )}
      <p>
        <span class="mark">{text.states[change.state]}</span>{' '}
        {hasRemaining ? text.remainingHelp : text.stateHelp[change.state]}
      </p>
      {isRunning && change.problem !== null && (
        <p class="notice" role="status">
          {text.problems[change.problem]}
        </p>
      )}
      {isRunning && (
        <p role="status" data-progress={href(path)}>
          {text.progress(change.table_name, number(change.total))}
        </p>
      )}
      {change.state === 'planned' && (
        <>
          <ul>
            {change.names?.map((name) => (
              <li key={name.old}>
                <bdi>{name.old}</bdi> → <bdi>{name.new}</bdi>
              </li>
            ))}
          </ul>
          <p>{text.found(number(counts.rows), number(counts.places))}</p>
          <Plan {...data} />
        </>
      )}
      {change.state === 'applied' && <Remaining {...data} />}
    </DeskLayout>
  )
}

function Plan({ change, speaker, places, next }: NameChangeData) {
  const { words } = useDesk()
  const text = words.nameChanges
  const [first, last] = [places[0], places.at(-1)]
  return (
    <>
      <Form action={deskPaths.nameChange(change.id)}>
        {first && last && (
          <>
            <input type="hidden" name="from" value={first.position} />
            <input type="hidden" name="to" value={last.position} />
          </>
        )}
        {next !== undefined && <input type="hidden" name="next" value={next} />}
        <fieldset class="field">
          <legend>{text.places}</legend>
          <p class="help">{text.placesHelp}</p>
          {places.map((place) => (
            <PlaceRow
              key={place.position}
              place={place}
              isOwn={place.subject === 'speaker' && place.subject_id === change.speaker_id}
            />
          ))}
        </fieldset>
        <button type="submit" name="action" value="save" class={next ? undefined : 'quiet'}>
          {next === undefined ? text.save : text.saveAndNext}
        </button>{' '}
        {next === undefined && (
          <button type="submit" name="action" value="apply">
            {text.apply(speaker.name)}
          </button>
        )}
      </Form>
      <Form action={deskPaths.nameChange(change.id)}>
        <input type="hidden" name="action" value="discard" />
        <button type="submit" class="quiet">
          {text.discard}
        </button>
      </Form>
    </>
  )
}

/** An occurrence with its checkbox. The name of the speaker itself has none, and what stays. */
function PlaceRow({ place, isOwn }: { place: ListedPlace; isOwn: boolean }) {
  const { words, number } = useDesk()
  const text = words.nameChanges
  const isFixed = place.refusal !== null || (isOwn && place.field === 'name')
  const excerpts = (
    <>
      <PlaceName place={place} />
      {place.rows > 1 && ` (${text.rows(number(place.rows))})`}
      {place.refusal !== null && <span class="mark">{text.marks[place.refusal]}</span>}
      {place.refusal === 'account' && <span class="help"> {text.refusals.account}</span>}
      {place.before !== '' && (
        <>
          <br />
          <del dir="auto">{place.before}</del>{' '}
          {place.refusal === null && <ins dir="auto">{place.after}</ins>}
        </>
      )}
    </>
  )
  if (isFixed)
    return (
      <div class="choice">
        {place.refusal === null && (
          <input type="hidden" name={`take_${place.position}`} value="1" />
        )}
        <span>{excerpts}</span>
      </div>
    )
  return (
    <label class="choice">
      <input type="checkbox" name={`take_${place.position}`} value="1" checked={!place.is_kept} />
      <span>{excerpts}</span>
    </label>
  )
}

function PlaceName({ place }: { place: ListedPlace }) {
  const { words } = useDesk()
  const text = words.nameChanges
  const { subject, subject_id: id, field, title } = place
  const name = text.subjects[subject] ?? text.table(subject)
  return (
    <b>
      {name}
      {id > 0 && ` ${id}`}
      {title !== '' && (
        <>
          {' '}
          <bdi>{title}</bdi>
        </>
      )}
      {field !== '' && `: ${field}`}
    </b>
  )
}

/** What was not changed, and why. */
function Remaining({ places, change }: NameChangeData) {
  const { words, href, number } = useDesk()
  const text = words.nameChanges
  return (
    <>
      <p>{text.applied(number(change.total))}</p>
      {places.length > 0 && (
        <section>
          <h2>{text.remaining}</h2>
          <ul>
            {places.map((place) => (
              <li key={place.position}>
                {place.subject === 'video' || place.subject === 'facts' ? (
                  <a href={href(deskPaths.talk(place.subject_id))}>
                    <PlaceName place={place} />
                  </a>
                ) : (
                  <PlaceName place={place} />
                )}{' '}
                {text.refusals[place.refusal ?? '']}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}
