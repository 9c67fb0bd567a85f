import type { ProblemData } from '../data.ts'
import { ContactLink } from '../parts/contact.tsx'
import { PageLayout } from '../parts/page.tsx'
import { SearchForm } from '../parts/search-form.tsx'
import { paths, type SearchKey } from '../paths.ts'
import { useView } from '../view.ts'

type Messages = ReturnType<typeof useView>['words']
type MessageStatus = keyof Messages['problemTitles']

/** The error page. */
export function ProblemPage(data: ProblemData) {
  const { status, detail, requestId, missingPage, invalidSearch } = data
  const { words, href, locale } = useView()
  if (missingPage) return <MissingPage status={status} {...missingPage} />
  if (invalidSearch) return <InvalidSearch {...data} {...invalidSearch} />
  const known = messageStatus(status, words)
  return (
    <PageLayout name="problem" title={words.problemTitles[known]}>
      <section class="problem">
        <p class="kind">{status}</p>
        <h1>{words.problemTitles[known]}</h1>
        <p>{words.problemHelp[known]}</p>
        {known === 500 && <p class="facts">{requestId}</p>}
        {(known === 410 || known === 500) && <ContactLink />}
        {/* The detail is available in English only. */}
        {known === 400 && locale === 'en' && <p class="facts">{detail}</p>}
        <SearchForm state={{}} suggest="all" />
        <p>
          <a href={href(paths.home)}>{words.backHome}</a>
        </p>
      </section>
    </PageLayout>
  )
}

/** The error page if a search or a list has fewer pages. */
function MissingPage({
  status,
  search,
  firstPage,
}: { status: number } & NonNullable<ProblemData['missingPage']>) {
  const { words } = useView()
  return (
    <PageLayout name="problem" title={words.missingPage.title}>
      <section class="problem">
        <p class="kind">{status}</p>
        <h1>{words.missingPage.title}</h1>
        <p>
          {search ? words.missingPage.search : words.missingPage.list}{' '}
          <a href={firstPage}>{words.missingPage.first}</a>
        </p>
        <SearchForm state={search ?? {}} suggest="all" />
      </section>
    </PageLayout>
  )
}

/** The error page if filters of a search have invalid values. */
function InvalidSearch({
  status,
  detail,
  filters,
  rest,
}: ProblemData & NonNullable<ProblemData['invalidSearch']>) {
  const { words, href, locale } = useView()
  const names: Partial<Record<SearchKey, string>> = { ...words.facets, ordering: words.order }
  return (
    <PageLayout name="problem" title={words.invalidFilters.title}>
      <section class="problem">
        <p class="kind">{status}</p>
        <h1>{words.invalidFilters.title}</h1>
        <p>
          {words.invalidFilters.explain(filters.map((key) => names[key] ?? key).join(', '))}{' '}
          <a href={href(paths.search(rest))}>{words.invalidFilters.remove}</a>
        </p>
        {/* The detail is available in English only. */}
        {locale === 'en' && <p class="facts">{detail}</p>}
        <SearchForm state={rest} suggest="all" />
      </section>
    </PageLayout>
  )
}

/** Returns the status whose messages are shown: 400 or 500 if it has none of its own. */
export function messageStatus(status: number, { problemTitles }: Messages): MessageStatus {
  if (Object.hasOwn(problemTitles, status)) return status as MessageStatus
  return status < 500 ? 400 : 500
}
