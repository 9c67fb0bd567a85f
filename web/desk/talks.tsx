import { maxEditedRecords } from '@talkshelf/contract'
import type { ComponentChildren } from 'preact'
import { deskPaths } from '../paths.ts'
import { Field } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { ListKeys, listItem } from './list-keys.tsx'
import { useDesk } from './view.ts'

/** The columns of the list of talks besides the title. */
export const talkColumns = ['speakers', 'event', 'date', 'state', 'licence'] as const
type TalkColumn = (typeof talkColumns)[number]
const defaultColumns: readonly TalkColumn[] = ['speakers', 'event', 'date']

/** What a list of talks shows. */
export interface TalkList {
  readonly q: string
  readonly state: 'live' | 'draft'
  readonly page: number
  /** Empty: the usual ones. */
  readonly columns: readonly TalkColumn[]
}

/** Returns the query of the page of a list. */
export function talkListQuery({ q, state, page, columns }: TalkList): string {
  const query = new URLSearchParams({
    ...(q && { q }),
    ...(state === 'draft' && { state }),
    ...(page > 1 && { page: String(page) }),
  })
  for (const column of columns) query.append('column', column)
  return query.toString()
}

export interface ListedTalk {
  readonly id: number
  readonly title: string
  readonly category: string
  readonly speakers: readonly string[]
  readonly recorded: string | null
  readonly isLive: boolean
  readonly licence: string
}

export interface TalksData {
  readonly list: TalkList
  readonly talks: readonly ListedTalk[]
  /** Undefined if it is not counted. */
  readonly count: number | undefined
  readonly hasMore: boolean
  /** Whether the list has exactly the talks that match, so that all of them can be edited. */
  readonly isExact: boolean
}

/** Talks to edit: a search, or the drafts. */
export function Talks({ list, talks, count, hasMore, isExact }: TalksData) {
  const { words, href, number } = useDesk()
  const query = (page: number) => talkListQuery({ ...list, page })
  const canEditAll = isExact && (count === undefined || count <= maxEditedRecords)
  return (
    <DeskLayout title={words.talks}>
      <SearchForm list={list} />
      {count !== undefined && <p class="help">{words.talkCount(number(count), count)}</p>}
      {talks.length === 0 && <p>{words.noTalks}</p>}
      {talks.length > 0 && (
        <form action={href(deskPaths.bulkEdit)}>
          <input type="hidden" name="q" value={list.q} />
          <input type="hidden" name="state" value={list.state} />
          <TalkTable list={list} talks={talks} />
          <p class="actions">
            <button type="submit" class="quiet">
              {words.bulk.editSelected}
            </button>
            {canEditAll && (
              <button type="submit" class="quiet" name="all" value="1">
                {words.bulk.editAll(count === undefined ? undefined : number(count))}
              </button>
            )}
          </p>
        </form>
      )}
      {talks.length > 0 && <ListKeys />}
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

const shownColumns = ({ columns }: TalkList) => (columns.length === 0 ? defaultColumns : columns)

function SearchForm({ list }: { list: TalkList }) {
  const { words, href } = useDesk()
  const shown = shownColumns(list)
  return (
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
      <fieldset class="field">
        <legend>{words.bulk.columns}</legend>
        {talkColumns.map((column) => (
          <label key={column} class="choice">
            <input type="checkbox" name="column" value={column} checked={shown.includes(column)} />
            {words.bulk.columnNames[column]}
          </label>
        ))}
      </fieldset>
      <button type="submit">{words.search}</button>
    </form>
  )
}

function TalkTable({ list, talks }: Pick<TalksData, 'list' | 'talks'>) {
  const { words, href } = useDesk()
  const text = words.bulk
  const here = encodeURIComponent(talkListQuery(list))
  const columns = talkColumns.filter((column) => shownColumns(list).includes(column))
  return (
    <section class="scroll" tabindex={0} aria-label={words.talks}>
      <table class="talks">
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">{text.selected}</span>
            </th>
            <th scope="col">{text.talk}</th>
            {columns.map((column) => (
              <th key={column} scope="col">
                {text.columnNames[column]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {talks.map((talk) => (
            <tr key={talk.id}>
              <td>
                <input
                  type="checkbox"
                  name="id"
                  value={talk.id}
                  aria-label={text.select(talk.title)}
                />
              </td>
              <td>
                <a href={href(`${deskPaths.talk(talk.id)}?list=${here}`)} dir="auto" {...listItem}>
                  {talk.title}
                </a>{' '}
                {!talk.isLive && <span class="mark warn">{words.draft}</span>}
              </td>
              {columns.map((column) => (
                <td key={column} class={column === 'date' ? 'date' : undefined}>
                  <Cell talk={talk} column={column} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Cell({ talk, column }: { talk: ListedTalk; column: TalkColumn }) {
  const { words } = useDesk()
  const cells: Readonly<Record<TalkColumn, ComponentChildren>> = {
    speakers: talk.speakers.join(', '),
    event: talk.category,
    date: talk.recorded,
    state: talk.isLive ? words.live : words.draft,
    licence: talk.licence,
  }
  return <bdi>{cells[column]}</bdi>
}
