import type { CollectionData, FacetKind } from '../data.ts'
import { breadcrumbsJsonLd, eventJsonLd, jsonLdText, personJsonLd } from '../json-ld.ts'
import { plainText } from '../markdown.ts'
import { Cards } from '../parts/card.tsx'
import { Chips } from '../parts/chips.tsx'
import { DateRange } from '../parts/date-range.tsx'
import { facetName } from '../parts/facets.tsx'
import { FeedIcon, SearchIcon } from '../parts/icons.tsx'
import { PageLayout } from '../parts/page.tsx'
import { PagerNav } from '../parts/pager.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

/** An event, a speaker, a tag, a language or a year, and its talks. */
export function Collection(data: CollectionData) {
  const view = useView()
  const { words, href, number } = view
  const { kind, about, path, pager, count } = data
  const name = data.code ? view.language(data.code, data.name) : data.name
  const title = words.titles[kind](name)
  const shown = words.talks(count, data.isExact ? number(count) : words.about_number(number(count)))
  const pageOf = (page: number) => (page > 1 ? `${path}?page=${page}` : path)
  return (
    <PageLayout
      name="collection"
      title={pager.page > 1 ? `${title} (${words.page(number(pager.page))})` : title}
      description={plainText(about?.description ?? '', 200) || `${title}: ${shown}`}
      canonical={pageOf(pager.page)}
      feed={path}
      preview={{ type: kind === 'speaker' ? 'profile' : 'website' }}
      jsonLd={jsonLdOf(data, title, view).map(jsonLdText)}
    >
      <header class="collection-head">
        <p class="kind">{words.kinds[kind]}</p>
        <h1 dir="auto">{name}</h1>
        <p class="facts">
          {about && (about.first || about.last) && (
            <>
              <DateRange first={about.first} last={about.last} /> ·{' '}
            </>
          )}
          {shown}
          {about?.url && (
            <>
              {' · '}
              <a href={about.url} rel="nofollow noopener ugc">
                {words.website}
              </a>
            </>
          )}
        </p>
        {data.aliases.length > 0 && (
          <p>
            {words.alsoKnownAs}: {data.aliases.join(', ')}
          </p>
        )}
        {about?.html && (
          <div class="prose" dir="auto" dangerouslySetInnerHTML={{ __html: about.html }} />
        )}
        <p class="row actions">
          <a class="button" href={href(paths.search(data.state))} rel="nofollow">
            <SearchIcon /> {words.searchThese}
          </a>
          <a class="button" href={href(paths.feed(path, 'atom'))}>
            <FeedIcon /> {words.follow}
          </a>
        </p>
      </header>
      {count === 0 && <p>{words.noTalks}</p>}
      <Cards
        cards={data.cards}
        level={2 as const}
        first={3}
        without={kind === 'category' ? 'category' : undefined}
      />
      <PagerNav pager={pager} to={pageOf} />
      <InCommon {...data} />
    </PageLayout>
  )
}

function jsonLdOf(
  { kind, entity, name, aliases, about, path }: CollectionData,
  title: string,
  { site, origin }: ReturnType<typeof useView>,
) {
  const steps = [
    { name: site.name, path: paths.home },
    { name: title, path },
  ]
  const crumbs = breadcrumbsJsonLd(steps, origin)
  if (entity && kind === 'speaker')
    return [personJsonLd({ ...entity, name, aliases }, origin), crumbs]
  if (entity && kind === 'category' && about)
    return [eventJsonLd({ ...entity, name, ...about }, origin), crumbs]
  return [crumbs]
}

/** Who and what else is behind these talks. */
function InCommon({ facets, state }: CollectionData) {
  const view = useView()
  const kinds = (['year', 'category', 'speaker', 'tag', 'language'] as FacetKind[]).filter(
    (kind) => (facets[kind]?.length ?? 0) > 1,
  )
  if (kinds.length === 0) return null
  return (
    <div class="columns in-common">
      {kinds.map((kind) => (
        <section key={kind}>
          <h2>{view.words.facets[kind]}</h2>
          <Chips
            items={(facets[kind] ?? []).slice(0, 12).map((it) => ({
              href: paths.search({ ...state, [kind]: it.value }),
              name: facetName(view, kind, it),
              talks: it.talks,
            }))}
          />
        </section>
      ))}
    </div>
  )
}
