import { PageLayout } from '../parts/page.tsx'
import { paths } from '../paths.ts'
import type { SitePage, SiteText } from '../site.ts'
import { useView } from '../view.ts'

/** A page with a text of the operator, such as the imprint. */
export function SiteTextPage({ page, text }: { page: SitePage; text: SiteText }) {
  const { words, locale } = useView()
  const title = text.title ?? words.sitePages[page]
  const lang = text.lang === locale ? undefined : text.lang
  return (
    <PageLayout
      name="site"
      title={title}
      canonical={paths.sitePage(page)}
      preview={{ type: 'website' }}
    >
      <article class="prose">
        <h1 lang={text.title === undefined ? undefined : lang} dir="auto">
          {title}
        </h1>
        <OperatorText {...text} />
      </article>
    </PageLayout>
  )
}

/** The text of the operator, without its title. */
export function OperatorText({ html, lang }: SiteText) {
  const { locale } = useView()
  return (
    <div
      lang={lang === locale ? undefined : lang}
      dir="auto"
      dangerouslySetInnerHTML={{ __html: html }}
    />
  )
}
