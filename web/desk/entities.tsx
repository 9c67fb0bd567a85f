import { deskEntityPaths, deskPaths, type EntityPageKind } from '../paths.ts'
import { Field, Form } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

/** What a list of speakers, tags or events shows. */
export interface EntityList {
  readonly q: string
  readonly sort: 'name' | 'use'
  readonly page: number
}

export interface EntityUse {
  readonly name: string
  readonly slug: string
  /** The number of live talks. */
  readonly talks: number
}

export interface EntitiesData {
  readonly kind: EntityPageKind
  readonly list: EntityList
  readonly entities: readonly EntityUse[]
  readonly hasMore: boolean
  /** Names that differ in spelling only. */
  readonly groups: readonly (readonly EntityUse[])[]
  readonly groupPage: number
  readonly hasMoreGroups: boolean
}

/** All speakers, tags or events, with a search and similar spellings side by side. */
export function Entities(data: EntitiesData) {
  const { kind, list, entities, hasMore, groups } = data
  const { words, href, number } = useDesk()
  const text = words.entities
  const paths = deskEntityPaths[kind]
  const query = (page: number) =>
    new URLSearchParams({
      ...(list.q && { q: list.q }),
      ...(list.sort === 'use' && { sort: list.sort }),
      ...(page > 1 && { page: String(page) }),
    }).toString()
  return (
    <DeskLayout title={text.titles[kind]}>
      <form class="search" action={href(paths.list)}>
        <Field
          label={text.search}
          help={text.searchHelp}
          name="q"
          value={list.q}
          maxLength={255}
          autocomplete="off"
        />
        <fieldset class="field">
          <legend>{text.sort}</legend>
          {(['name', 'use'] as const).map((sort) => (
            <label key={sort} class="choice">
              <input type="radio" name="sort" value={sort} checked={sort === list.sort} />
              {text.sorts[sort]}
            </label>
          ))}
        </fieldset>
        <button type="submit">{words.search}</button>
      </form>
      {groups.length > 0 && <Spellings {...data} />}
      {entities.length === 0 && <p>{text.none}</p>}
      <ul class="rows">
        {entities.map(({ name, slug, talks }) => (
          <li key={slug}>
            <a href={href(paths.page(slug))} dir="auto">
              {name}
            </a>
            <span class="help">{text.talks(number(talks), talks)}</span>
          </li>
        ))}
      </ul>
      <p class="toolbar">
        {list.page > 1 && (
          <a href={href(`${paths.list}?${query(list.page - 1)}`)} rel="prev">
            {words.previousPage}
          </a>
        )}
        {hasMore && (
          <a href={href(`${paths.list}?${query(list.page + 1)}`)} rel="next">
            {words.nextPage}
          </a>
        )}
      </p>
    </DeskLayout>
  )
}

function Spellings({ kind, groups, groupPage, hasMoreGroups }: EntitiesData) {
  const { words, href, number } = useDesk()
  const text = words.entities
  const paths = deskEntityPaths[kind]
  return (
    <section aria-labelledby="spellings">
      <h2 id="spellings">{text.spellings}</h2>
      <p class="help">{text.spellingsHelp}</p>
      <ul class="rows">
        {groups.map((group) => (
          <li key={group[0]?.slug}>
            <form class="spellings" action={href(paths.merge)}>
              <input type="hidden" name="group" value={group.map(({ slug }) => slug).join(',')} />
              {group.map(({ name, slug, talks }, index) => (
                <label key={slug} class="choice">
                  <input
                    type="radio"
                    name="into"
                    value={slug}
                    checked={index === 0}
                    aria-label={text.keep(name)}
                  />
                  <span dir="auto">{name}</span>{' '}
                  <span class="help">{text.talks(number(talks), talks)}</span>
                </label>
              ))}
              <button
                type="submit"
                class="quiet"
                aria-label={text.mergeGroupInto(group.map(({ name }) => name).join(', '))}
              >
                {text.mergeGroup}
              </button>
            </form>
          </li>
        ))}
      </ul>
      {hasMoreGroups && (
        <p>
          <a href={href(`${paths.list}?groups=${groupPage + 1}`)}>{text.moreSpellings}</a>
        </p>
      )}
    </section>
  )
}

/** The first talks that a change would write, and how many there are. */
export interface TalkPreview {
  readonly talks: readonly PreviewedTalk[]
  readonly count: number
}

export interface PreviewedTalk {
  readonly id: number
  /** Undefined if the talk was taken down. */
  readonly title: string | undefined
  readonly details: string
  readonly isLive: boolean
}

/** The talks that a change would write. */
export function AffectedTalks({ talks, count }: TalkPreview) {
  const { words, number } = useDesk()
  const text = words.entities
  if (count === 0) return <p>{text.affectedNone}</p>
  return (
    <>
      <p>
        <b>{text.affected(number(count), count)}.</b>{' '}
        {count > talks.length && text.firstOf(number(talks.length))}
      </p>
      <TalkRows talks={talks} />
    </>
  )
}

/** A list of talks with links to their editors. */
export function TalkRows({ talks }: { talks: readonly PreviewedTalk[] }) {
  return (
    <ul class="rows">
      {talks.map((talk) => (
        <li key={talk.id}>
          <TalkName {...talk} />
        </li>
      ))}
    </ul>
  )
}

/** The title of a talk, a link to its editor, and what tells it apart. */
export function TalkName({ id, title, details, isLive }: PreviewedTalk) {
  const { words, href } = useDesk()
  if (title === undefined) return <span>{words.entities.takenDown(id)}</span>
  return (
    <div>
      <a href={href(deskPaths.talk(id))} dir="auto">
        {title}
      </a>{' '}
      {!isLive && <span class="mark warn">{words.draft}</span>}
      <p class="help">{details}</p>
    </div>
  )
}

export interface MergeEntitiesData extends TalkPreview {
  readonly kind: EntityPageKind
  readonly into: EntityUse & { readonly etag: string }
  readonly merged: readonly (EntityUse & { readonly etag: string })[]
  /** Whether one of them was changed since the preview. */
  readonly isStale: boolean
  /** Whether the person has to confirm first. */
  readonly isLarge: boolean
}

/** What a merge would change. */
export function MergeEntities(data: MergeEntitiesData) {
  const { kind, into, merged, isStale, isLarge, talks, count } = data
  const { words, href, number } = useDesk()
  const text = words.entities
  const paths = deskEntityPaths[kind]
  const names = merged.map(({ name }) => name).join(', ')
  return (
    <DeskLayout title={text.mergeTitle(into.name)}>
      <p>
        <a href={href(paths.page(into.slug))}>{into.name}</a>
      </p>
      {isStale && (
        <p class="notice" role="alert">
          {text.stale}
        </p>
      )}
      {merged.length === 0 ? (
        <p>{text.mergeNothing}</p>
      ) : (
        <>
          <p>{text.mergeHelp(names, into.name)}</p>
          {isLarge && <p class="notice">{text.confirmLarge}</p>}
          <Form action={paths.merge}>
            <input type="hidden" name="into" value={into.slug} />
            <input type="hidden" name={`etag_${into.slug}`} value={into.etag} />
            <input type="hidden" name="group" value={merged.map(({ slug }) => slug).join(',')} />
            {merged.map(({ slug, etag }) => (
              <input key={slug} type="hidden" name={`etag_${slug}`} value={etag} />
            ))}
            <button type="submit">{text.mergeButton(number(count), count)}</button>
          </Form>
          <AffectedTalks talks={talks} count={count} />
        </>
      )}
    </DeskLayout>
  )
}
