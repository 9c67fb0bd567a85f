import type { ProblemData } from '../data.ts'
import { PageLayout } from '../parts/page.tsx'
import { SearchForm } from '../parts/search-form.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

/** What a reader is told when there is no page. */
export function ProblemPage({ status, detail, requestId }: ProblemData) {
  const { words, href, locale } = useView()
  const known = (
    Object.hasOwn(words.problemTitles, status) ? status : status < 500 ? 400 : 500
  ) as keyof typeof words.problemTitles
  return (
    <PageLayout name="problem" title={words.problemTitles[known]}>
      <section class="problem">
        <p class="kind">{status}</p>
        <h1>{words.problemTitles[known]}</h1>
        <p>{words.problemHelp[known]}</p>
        {known === 500 && <p class="facts">{requestId}</p>}
        {/* It is said in English only: what exactly was wrong with the address. */}
        {known === 400 && locale === 'en' && <p class="facts">{detail}</p>}
        <SearchForm state={{}} />
        <p>
          <a href={href(paths.home)}>{words.backHome}</a>
        </p>
      </section>
    </PageLayout>
  )
}
