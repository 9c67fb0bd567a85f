import { type FollowedSource, fetchInterval } from '@talkshelf/contract'
import { deskPaths } from '../paths.ts'
import { Field, Form } from './form.tsx'
import { Checkbox, FormatField } from './imports.tsx'
import { DeskLayout } from './layout.tsx'
import { englishOn, type ServerText, translated } from './server-text.ts'
import { useDesk } from './view.ts'

/** What a form of a followed source contains, by field. */
export type FollowedSourceValues = Readonly<Record<string, string>>

type FormError = 'url' | 'interval' | 'tooMany' | ServerText

/** Errors by the field that they are about. */
export type FollowedSourceErrors = Readonly<Partial<Record<string, FormError>>>

interface FollowedSourceForm {
  /** Whether the server fetches nothing. */
  readonly isOff: boolean
  /** What the form contained, if it was refused. */
  readonly typed?: FollowedSourceValues
  readonly errors?: FollowedSourceErrors
}

export interface FollowedSourcesData extends FollowedSourceForm {
  readonly sources: readonly FollowedSource[]
}

const newValues: FollowedSourceValues = { interval_hours: String(fetchInterval.default) }

/** All followed sources, and a form that adds one. */
export function FollowedSources({ isOff, sources, typed, errors }: FollowedSourcesData) {
  const { words, href } = useDesk()
  const text = words.followedSources
  return (
    <DeskLayout title={text.title}>
      <p>
        <a href={href(deskPaths.imports)}>{words.imports.title}</a>
      </p>
      <p class="help">{text.help}</p>
      {isOff && <p class="notice">{text.off}</p>}
      {sources.length === 0 && <p>{text.none}</p>}
      <ul class="rows">
        {sources.map((source) => (
          <li key={source.id}>
            <div class="long">
              <a href={href(deskPaths.followedSource(source.id))}>
                <bdi>{source.options.name ?? source.url}</bdi>
              </a>{' '}
              <State state={source.state} />
              <Progress source={source} />
            </div>
          </li>
        ))}
      </ul>
      <section>
        <h2>{text.create}</h2>
        <Form action={deskPaths.followedSources}>
          <SourceFields values={typed ?? newValues} errors={errors ?? {}} />
          <button type="submit">{text.create}</button>
        </Form>
      </section>
    </DeskLayout>
  )
}

function State({ state }: Pick<FollowedSource, 'state'>) {
  const { words } = useDesk()
  const isBad = state === 'failing' || state === 'disabled'
  return <span class={isBad ? 'mark warn' : 'mark'}>{words.followedSources.states[state]}</span>
}

/** How the last fetch ended, when the next one is, and what waits. */
function Progress({ source }: { readonly source: FollowedSource }) {
  const { words, href, time, locale } = useDesk()
  const text = words.followedSources
  const { last_fetch: last, next_fetch: next, outcome, failures, waiting_import: waiting } = source
  const lastFetch =
    last === null || outcome === null
      ? text.never
      : `${text.lastFetch}: ${time(`${last}Z`)}: ${text.outcomes[outcome]}`
  const parts = [
    text.every(source.interval_hours.toLocaleString(locale)),
    lastFetch,
    failures > 0 ? text.failures(failures) : '',
    next === null ? '' : `${text.nextFetch}: ${time(`${next}Z`)}`,
  ]
  return (
    <>
      <p class="help">{parts.filter(Boolean).join(' · ')}</p>
      {source.message !== null && outcome !== 'waiting' && (
        <p class={outcome === 'failed' ? 'error lines' : 'help'} lang={englishOn(locale)}>
          <bdi>{source.message}</bdi>
        </p>
      )}
      {waiting !== null && (
        <p>
          <a href={href(deskPaths.importPage(waiting))}>{text.waitingImport(waiting)}</a>
        </p>
      )}
    </>
  )
}

interface SourceFieldsProps {
  readonly values: FollowedSourceValues
  readonly errors: FollowedSourceErrors
}

function SourceFields({ values, errors }: SourceFieldsProps) {
  const { words } = useDesk()
  const text = words.followedSources
  const options = words.imports
  const errorOf = (name: string) => {
    const error = errors[name]
    return typeof error === 'string' ? text.errors[error] : translated(error, options.byCode)
  }
  const field = (name: string) => ({ name, value: values[name], error: errorOf(name) })
  const hasMore = ['name', 'recorded', 'source', 'keep_titles'].some(
    (name) => values[name] || errors[name],
  )
  return (
    <>
      <Field
        label={text.url}
        help={text.urlHelp}
        type="url"
        maxLength={2048}
        autocomplete="off"
        required
        {...field('url')}
      />
      <Field
        label={text.interval}
        help={text.intervalHelp(fetchInterval.min, fetchInterval.max)}
        type="number"
        min={fetchInterval.min}
        max={fetchInterval.max}
        required
        {...field('interval_hours')}
      />
      <FormatField value={values.format} />
      <Field
        label={`${options.event} (${words.optional})`}
        help={options.eventHelp}
        maxLength={255}
        autocomplete="off"
        {...field('category')}
      />
      <Field
        label={`${options.language} (${words.optional})`}
        help={options.languageHelp}
        maxLength={100}
        autocomplete="off"
        {...field('language')}
      />
      <Checkbox name="draft" isChecked={values.draft === '1'}>
        {options.draft}
      </Checkbox>
      <details open={hasMore}>
        <summary>{options.moreOptions}</summary>
        <Field
          label={text.name}
          help={text.nameHelp}
          maxLength={255}
          autocomplete="off"
          {...field('name')}
        />
        <Field
          label={options.recorded}
          help={options.recordedHelp}
          type="date"
          {...field('recorded')}
        />
        <Field
          label={options.source}
          help={options.sourceHelp}
          maxLength={100}
          autocomplete="off"
          {...field('source')}
        />
        <Checkbox name="keep_titles" isChecked={values.keep_titles === '1'}>
          {options.keepTitles}
        </Checkbox>
      </details>
    </>
  )
}

export interface FollowedSourcePageData extends FollowedSourceForm {
  readonly source: FollowedSource
}

/** One followed source: its state, actions and settings. */
export function FollowedSourcePage({ isOff, source, typed, errors }: FollowedSourcePageData) {
  const { words, href } = useDesk()
  const text = words.followedSources
  const { id, url, state, options } = source
  const values: FollowedSourceValues = {
    ...Object.fromEntries(
      Object.entries(options).flatMap(([name, value]): [string, string][] =>
        value === false ? [] : [[name, value === true ? '1' : String(value)]],
      ),
    ),
    url,
    interval_hours: String(source.interval_hours),
  }
  return (
    <DeskLayout title={text.one(id)}>
      <p>
        <a href={href(deskPaths.followedSources)}>{text.title}</a>
      </p>
      <p>
        <bdi class="long">{url}</bdi> <State state={state} />
      </p>
      <p>{text.stateHelp[state]}</p>
      {isOff && <p class="notice">{text.off}</p>}
      <Progress source={source} />
      <Actions source={source} />
      <section>
        <h2>{text.settings}</h2>
        <p class="help">{text.settingsHelp}</p>
        <Form action={deskPaths.followedSource(id)}>
          <SourceFields values={typed ?? values} errors={errors ?? {}} />
          <button type="submit">{words.save}</button>
        </Form>
      </section>
      <section>
        <h2>{text.remove}</h2>
        <p class="help">{text.removeHelp}</p>
        <Form action={deskPaths.deleteFollowedSource(id)}>
          <button type="submit" class="danger">
            {text.remove}
          </button>
        </Form>
      </section>
    </DeskLayout>
  )
}

function Actions({ source: { id, state } }: Pick<FollowedSourcePageData, 'source'>) {
  const { words } = useDesk()
  const text = words.followedSources
  const isFollowed = state === 'active' || state === 'failing'
  return (
    <section>
      <h2>{text.actions}</h2>
      {isFollowed ? (
        <>
          <Form action={deskPaths.fetchFollowedSource(id)}>
            <p class="help">{text.fetchHelp}</p>
            <button type="submit">{text.fetchNow}</button>
          </Form>
          <Form action={deskPaths.pauseFollowedSource(id)}>
            <button type="submit">{text.pause}</button>
          </Form>
        </>
      ) : (
        <Form action={deskPaths.resumeFollowedSource(id)}>
          <button type="submit">{text.resume}</button>
        </Form>
      )}
    </section>
  )
}
