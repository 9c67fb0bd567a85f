import {
  awayStates,
  limitedStates,
  type Replacement,
  type Source,
  type SourceState,
  unavailableStates,
  type Verdict,
} from '@talkshelf/contract'
import type { ComponentChildren } from 'preact'
import { deskPaths } from '../paths.ts'
import { Field, Form } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { ListKeys, listItem } from './list-keys.tsx'
import { englishOn } from './server-text.ts'
import { useDesk } from './view.ts'

// Links in the desk: unhealthy sources, the decision about a whole host, and copies that may
// replace a source.

interface ExaminedSource extends Source {
  readonly evidence: string | null
  readonly next_check: string
  /** The newest at the end. */
  readonly checks: readonly { readonly at: string; readonly verdict: Verdict }[]
  readonly talks: readonly {
    readonly id: number
    readonly title: string
    readonly event: string
    readonly is_live: boolean
  }[]
}

interface UnhealthyHost extends Readonly<Record<'suspect' | 'unreachable', number>> {
  readonly host: string
  readonly limited: number
  readonly away: number
  readonly paused_until: string | null
}

/** What the list of sources shows. */
export interface LinkFilter {
  readonly state?: SourceState | undefined
  readonly host?: string | undefined
  /** Title of an event. */
  readonly event?: string | undefined
  /** Id of a talk: all of its sources, in any state. */
  readonly talk?: number | undefined
}

/** Returns the query of the page of a list. */
export function linkQuery({ state, host, event, talk }: LinkFilter, after?: number): string {
  return new URLSearchParams({
    ...(state && { state }),
    ...(host && { host }),
    ...(event && { event }),
    ...(talk !== undefined && { talk: String(talk) }),
    ...(after !== undefined && { after: String(after) }),
  }).toString()
}

export interface LinksData {
  /** Whether the server checks no links. */
  readonly isOff: boolean
  readonly filter: LinkFilter
  /** Whether there is no event with that title. */
  readonly isUnknownEvent: boolean
  readonly hosts: readonly UnhealthyHost[]
  readonly sources: readonly ExaminedSource[]
  /** The source after which the next page begins, if there are more. */
  readonly next: number | undefined
  readonly today: string
  /** The last day of a pin, unless the editor chooses another one. */
  readonly until: { readonly source: string; readonly host: string }
  /** Sources of a host that one form pins. */
  readonly maxPinned: number
  /** What the last form about a host did. */
  readonly pinned?: { readonly count: number; readonly left: number } | undefined
  /** Whether the day of a pin was refused. */
  readonly isUntilWrong?: boolean
}

/** The unhealthy sources, by host and event. */
export function Links(data: LinksData) {
  const { words, href, number } = useDesk()
  const text = words.links
  const { isOff, filter, hosts, sources, next, pinned, isUntilWrong } = data
  return (
    <DeskLayout title={text.title}>
      <p class="help">{text.help}</p>
      {isOff && <p class="notice">{text.off}</p>}
      {isUntilWrong && (
        <p class="notice" role="alert">
          {text.untilError}
        </p>
      )}
      {pinned && (
        <p class="notice" role="status">
          {text.pinned(pinned.count, number(pinned.count), number(pinned.left))}{' '}
          {pinned.left > 0 && text.repeat}
        </p>
      )}
      {filter.talk === undefined && <Hosts {...data} hosts={hosts} />}
      <section>
        <h2>{filter.talk === undefined ? text.list : text.ofTalk}</h2>
        {filter.talk === undefined ? (
          <FilterForm {...data} />
        ) : (
          <p>
            <a href={href(deskPaths.links)}>{text.showAll}</a>
          </p>
        )}
        {sources.length === 0 && <p>{text.none}</p>}
        <ul class="rows sources">
          {sources.map((source) => (
            <li key={source.id}>
              <SourceItem {...data} source={source} />
            </li>
          ))}
        </ul>
        {sources.length > 0 && <ListKeys />}
        {next !== undefined && (
          <p>
            <a href={href(`${deskPaths.links}?${linkQuery(filter, next)}`)} rel="next">
              {text.nextPage}
            </a>
          </p>
        )}
      </section>
    </DeskLayout>
  )
}

const hostGroups = ['suspect', 'unreachable', 'limited', 'away'] as const

function Hosts({ hosts, ...data }: LinksData) {
  const { words, href, number, time } = useDesk()
  const text = words.links
  if (hosts.length === 0) return null
  return (
    <section>
      <h2>{text.hosts}</h2>
      <section class="scroll" tabindex={0} aria-label={text.hosts}>
        <table>
          <thead>
            <tr>
              <th scope="col">{text.host}</th>
              {hostGroups.map((group) => (
                <th key={group} scope="col">
                  {text.groups[group]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {hosts.map(({ host, paused_until: paused, ...counts }) => (
              <tr key={host}>
                <td>
                  <a href={href(`${deskPaths.links}?${linkQuery({ host })}`)}>{host}</a>
                  {paused !== null && <p class="help">{text.paused(time(`${paused}Z`))}</p>}
                  <HostForm {...data} host={host} />
                </td>
                {hostGroups.map((group) => (
                  <td key={group}>{number(counts[group])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  )
}

type FormProps = Pick<LinksData, 'filter' | 'today' | 'until'>

/** The forms that decide for all sources of a host. */
function HostForm(props: FormProps & Pick<LinksData, 'maxPinned'> & { readonly host: string }) {
  const { words, number } = useDesk()
  const text = words.links
  const { host, filter, today, until, maxPinned } = props
  return (
    <details>
      <summary aria-label={text.pinHostOf(host)}>{text.pinHost}</summary>
      <p class="help">{text.pinHostHelp(number(maxPinned))}</p>
      <Form action={deskPaths.pinHost}>
        <BackTo filter={filter} />
        <input type="hidden" name="host" value={host} />
        <PinFields state="gone" today={today} until={until.host} />
        <button type="submit" class="danger">
          {text.pinAll}
        </button>
      </Form>
      <Form action={deskPaths.pinHost}>
        <BackTo filter={filter} />
        <input type="hidden" name="host" value={host} />
        <button type="submit" class="quiet" name="end" value="1">
          {text.endAllPins}
        </button>
      </Form>
    </details>
  )
}

/** The list from which a form was sent. */
function BackTo({ filter }: Pick<LinksData, 'filter'>) {
  return <input type="hidden" name="list" value={linkQuery(filter)} />
}

interface PinFieldsProps {
  readonly state: SourceState
  readonly today: string
  readonly until: string
}

function PinFields({ state: chosen, today, until }: PinFieldsProps) {
  const { words } = useDesk()
  const text = words.links
  return (
    <div class="actions">
      <label>
        {text.state}{' '}
        <select name="state">
          {(['ok', ...unavailableStates] as const).map((state) => (
            <option key={state} value={state} selected={state === chosen}>
              {text.states[state]}
            </option>
          ))}
        </select>
      </label>
      <label>
        {text.until} <input type="date" name="until" value={until} min={today} required />
      </label>
    </div>
  )
}

function FilterForm({ filter, isUnknownEvent }: LinksData) {
  const { words, href } = useDesk()
  const text = words.links
  return (
    <form class="search" action={href(deskPaths.links)}>
      <div class="field">
        <label for="field-state">{text.state}</label>
        <select id="field-state" name="state">
          <option value="">{text.allStates}</option>
          {(['suspect', ...unavailableStates] as const).map((state) => (
            <option key={state} value={state} selected={state === filter.state}>
              {text.states[state]}
            </option>
          ))}
        </select>
      </div>
      <Field label={text.host} name="host" value={filter.host} maxLength={253} autocomplete="off" />
      <Field
        label={text.event}
        name="event"
        value={filter.event}
        maxLength={255}
        autocomplete="off"
        error={isUnknownEvent ? text.unknownEvent : undefined}
      />
      <button type="submit">{text.filter}</button>
    </form>
  )
}

function SourceItem({ source, ...props }: LinksData & { readonly source: ExaminedSource }) {
  const { words, href, time, locale } = useDesk()
  const text = words.links
  const { id, url, state, evidence, next_check: next, checks, talks } = source
  const { filter, today, until } = props
  const isDue = Date.parse(`${next}Z`) <= Date.now()
  const last = checks.toReversed().map(({ at, verdict }) => (
    <span key={at}>
      {time(`${at}Z`)}: {text.verdicts[verdict]}
      <br />
    </span>
  ))
  return (
    <div class="long">
      <p>
        <Watch url={url} /> <StateMark source={source} />
      </p>
      <dl class="facts">
        <Fact name={text.talks}>
          {talks.map((talk, index) => (
            <span key={talk.id}>
              <a href={href(deskPaths.talk(talk.id))} dir="auto" {...(index === 0 ? listItem : {})}>
                {talk.title}
              </a>{' '}
              <span class="help" dir="auto">
                {talk.event}
              </span>{' '}
              {!talk.is_live && <span class="mark warn">{words.draft}</span>}
              <br />
            </span>
          ))}
        </Fact>
        {evidence !== null && (
          <Fact name={text.evidence}>
            <bdi lang={englishOn(locale)}>{evidence}</bdi>
          </Fact>
        )}
        <Fact name={text.checks}>{checks.length === 0 ? text.noChecks : last}</Fact>
        <Fact name={text.nextCheck}>{isDue ? text.due : time(`${next}Z`)}</Fact>
      </dl>
      <div class="actions">
        <Form action={deskPaths.checkSource(id)}>
          <BackTo filter={filter} />
          <button type="submit" class="quiet" aria-label={text.checkOf(url)}>
            {text.check}
          </button>
        </Form>
        {source.pinned_until !== null && (
          <Form action={deskPaths.pinSource(id)}>
            <BackTo filter={filter} />
            <button
              type="submit"
              class="quiet"
              name="end"
              value="1"
              aria-label={text.endPinOf(url)}
            >
              {text.endPin}
            </button>
          </Form>
        )}
      </div>
      <details>
        <summary aria-label={text.pinOf(url)}>{text.pin}</summary>
        <Form action={deskPaths.pinSource(id)}>
          <BackTo filter={filter} />
          <p class="help">{text.pinHelp}</p>
          <PinFields
            state={state === 'new' || state === 'suspect' ? 'ok' : state}
            today={today}
            until={until.source}
          />
          <button type="submit">{text.pinButton}</button>
        </Form>
      </details>
    </div>
  )
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** A link to a video at its host. */
function Watch({ url, label }: { readonly url: string; readonly label?: string }) {
  return (
    <a href={url} target="_blank" rel="noopener nofollow" aria-label={label && `${label}: ${url}`}>
      <bdi>{url}</bdi>
    </a>
  )
}

const isWarned = (state: SourceState) =>
  state === 'suspect' || state === 'unreachable' || isOneOf(awayStates, state)

function isOneOf(states: readonly SourceState[], state: SourceState): boolean {
  return states.includes(state)
}

/** The state of a source, and since when. */
function StateMark({ source }: { readonly source: Source }) {
  const { words, day } = useDesk()
  const text = words.links
  const { state, since, pinned_until: pinned } = source
  const isDated = isWarned(state) || isOneOf(limitedStates, state)
  return (
    <>
      <span class={isWarned(state) ? 'mark warn' : 'mark'}>{text.states[state]}</span>{' '}
      {isDated && since !== null && <span class="help">{text.since(day(since.slice(0, 10)))}</span>}{' '}
      {pinned !== null && <span class="mark">{text.pinnedUntil(day(pinned.slice(0, 10)))}</span>}
    </>
  )
}

interface TalkSourcesProps {
  readonly talk: number
  readonly sources: readonly Source[]
}

/** The sources of a talk and their states, for its editor. */
export function TalkSources({ talk, sources }: TalkSourcesProps) {
  const { words, href, age, person } = useDesk()
  const text = words.links
  const isEditor = person?.role === 'editor' || person?.role === 'admin'
  return (
    <section>
      <h2>{text.health}</h2>
      {sources.length === 0 && <p class="help">{text.noSources}</p>}
      <ul class="rows">
        {sources.map((source) => (
          <li key={source.id}>
            <div class="long">
              <Watch url={source.url} /> <StateMark source={source} />{' '}
              {source.last_check !== null && (
                <span class="help">{text.checked(age(`${source.last_check}Z`))}</span>
              )}
            </div>
          </li>
        ))}
      </ul>
      {isEditor && sources.length > 0 && (
        <p>
          <a href={href(`${deskPaths.links}?${linkQuery({ talk })}`)}>{text.manage}</a>
        </p>
      )}
    </section>
  )
}

export interface ReplacementQueue {
  readonly count: number
  readonly results: readonly Replacement[]
}

/** Copies that were found, each with its decision. */
export function ReplacementInbox({ queue }: { readonly queue: ReplacementQueue }) {
  const { words, href, number, locale } = useDesk()
  const text = words.links
  const { count, results } = queue
  if (results.length === 0) return null
  return (
    <section>
      <h2>{text.replacements}</h2>
      <p class="help">
        {text.replacementCount(count, number(count))}. {text.replacementsHelp}
      </p>
      <ul class="rows">
        {results.map(({ id, video, title, source, url, finder, evidence, effect }) => (
          <li key={id}>
            <div class="long">
              <p>
                <a href={href(deskPaths.talk(video))} dir="auto" {...listItem}>
                  {title}
                </a>
              </p>
              <dl class="facts">
                <Fact name={text.lost}>
                  <Watch url={source.url} label={text.lost} /> <StateMark source={source} />
                </Fact>
                <Fact name={text.copy}>
                  <Watch url={url} label={text.copy} />{' '}
                  <span class="mark">{text.finders[finder]}</span>
                </Fact>
                {evidence !== null && (
                  <Fact name={text.evidence}>
                    <bdi lang={englishOn(locale)}>{evidence}</bdi>
                  </Fact>
                )}
              </dl>
              <p class="help">{text.effects[effect]}</p>
              <div class="actions">
                <Form action={deskPaths.acceptReplacement(id)}>
                  <button type="submit" aria-label={text.acceptOf(title)}>
                    {text.accept}
                  </button>
                </Form>
                <Form action={deskPaths.refuseReplacement(id)}>
                  <button type="submit" class="quiet" aria-label={text.refuseOf(title)}>
                    {text.refuse}
                  </button>
                </Form>
              </div>
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
