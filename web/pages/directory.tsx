import type { DirectoryData } from '../data.ts'
import { Chips } from '../parts/chips.tsx'
import { PageLayout } from '../parts/page.tsx'
import { PagerNav } from '../parts/pager.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

/** All speakers or all tags, by name. */
export function Directory(data: DirectoryData) {
  const { kind, names, common, count, character, initials, pager } = data
  const { words, number, href } = useView()
  const path = paths.list(kind)
  const title = kind === 'speaker' ? words.speakers : words.tags
  const countOf = kind === 'speaker' ? words.speakersCount : words.tagsCount
  const pathOf = (character: string, page = 1) => {
    const search = new URLSearchParams({
      ...(character && { character }),
      ...(page > 1 && { page: String(page) }),
    }).toString()
    return search ? `${path}?${search}` : path
  }
  const chips = (list: DirectoryData['names']) => (
    <Chips
      items={list.map((entity) => ({
        href: paths.entity(kind, entity),
        name: entity.name,
        talks: entity.talks,
      }))}
    />
  )
  return (
    <PageLayout
      name="names"
      title={title}
      description={`${title}: ${number(count)}`}
      canonical={pathOf(character, pager.page)}
      preview={{ type: 'website' }}
    >
      <header class="collection-head">
        <h1>{title}</h1>
        <p class="facts">{countOf(count, number(count))}</p>
      </header>
      {common.length > 0 && (
        <section aria-labelledby="common">
          <h2 id="common">{words.mostTalks}</h2>
          {chips(common)}
        </section>
      )}
      <section aria-labelledby="by-letter">
        <h2 id="by-letter">{words.byLetter}</h2>
        <nav aria-label={words.byLetter}>
          <ul class="plain row jump">
            {initials.map((initial) => (
              <li key={initial.character}>
                <a
                  href={href(pathOf(initial.character))}
                  aria-current={initial.character === character ? 'true' : undefined}
                >
                  {initial.label}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        {names.length === 0 ? <p>{words.noTalks}</p> : chips(names)}
        <PagerNav pager={pager} to={(page) => pathOf(character, page)} />
      </section>
    </PageLayout>
  )
}
