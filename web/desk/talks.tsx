import { deskPaths } from '../paths.ts'
import { Field } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

/** What a list of talks shows. */
export interface TalkList {
  readonly q: string
  readonly state: 'live' | 'draft'
  readonly page: number
}

/** Returns the query of the page of a list. */
export function talkListQuery({ q, state, page }: TalkList): string {
  return new URLSearchParams({
    ...(q && { q }),
    ...(state === 'draft' && { state }),
    ...(page > 1 && { page: String(page) }),
  }).toString()
}

export interface ListedTalk {
  readonly id: number
  readonly title: string
  readonly category: string
  readonly speakers: readonly string[]
  readonly recorded: string | null
  readonly isLive: boolean
}

export interface TalksData {
  readonly list: TalkList
  readonly talks: readonly ListedTalk[]
  /** Undefined if it is not counted. */
  readonly count: number | undefined
  readonly hasMore: boolean
}

/** Talks to edit: a search, or the drafts. */
export function Talks({ list, talks, count, hasMore }: TalksData) {
  const { words, href, number } = useDesk()
  const query = (page: number) => talkListQuery({ ...list, page })
  const here = encodeURIComponent(query(list.page))
  return (
    <DeskLayout title={words.talks}>
      <form class="search" action={href(deskPaths.talks)}>
        <Field label={words.searchTalks} name="q" value={list.q} maxLength={300} />
        <fieldset class="field">
          <legend>{words.state}</legend>
          {(['live', 'draft'] as const).map((state) => (
            <label key={state} class="choice">
              <input type="radio" name="state" value={state} checked={state === list.state} />
              {state === 'live' ? words.live : words.drafts}
            </label>
          ))}
        </fieldset>
        <button type="submit">{words.search}</button>
      </form>
      {count !== undefined && <p class="help">{words.talkCount(number(count), count)}</p>}
      {talks.length === 0 && <p>{words.noTalks}</p>}
      <ul class="rows">
        {talks.map(({ id, title, category, speakers, recorded, isLive }) => (
          <li key={id}>
            <div>
              <a href={href(`${deskPaths.talk(id)}?list=${here}`)} dir="auto">
                {title}
              </a>{' '}
              {!isLive && <span class="mark warn">{words.draft}</span>}
              <p class="help">
                {[speakers.join(', '), category, recorded].filter(Boolean).join(' · ')}
              </p>
            </div>
          </li>
        ))}
      </ul>
      <p class="toolbar">
        {list.page > 1 && (
          <a href={href(`${deskPaths.talks}?${query(list.page - 1)}`)} rel="prev">
            {words.previousPage}
          </a>
        )}
        {hasMore && (
          <a href={href(`${deskPaths.talks}?${query(list.page + 1)}`)} rel="next">
            {words.nextPage}
          </a>
        )}
      </p>
    </DeskLayout>
  )
}
