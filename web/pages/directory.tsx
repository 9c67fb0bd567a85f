import type { DirectoryData } from '../data.ts'
import { Chips } from '../parts/chips.tsx'
import { PageLayout } from '../parts/page.tsx'
import { PagerNav } from '../parts/pager.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

const letters = [...'abcdefghijklmnopqrstuvwxyz']

/** All speakers or all tags, by name. */
export function Directory({ kind, names, common, count, character, pager }: DirectoryData) {
  const { words, number } = useView()
  const { href } = useView()
  const path = paths.list(kind)
  const title = kind === 'speaker' ? words.speakers : words.tags
  const counted = kind === 'speaker' ? words.speakersCount : words.tagsCount
  const at = (character: string, page = 1) => {
    const asked = new URLSearchParams({
      ...(character && { character }),
      ...(page > 1 && { page: String(page) }),
    }).toString()
    return asked ? `${path}?${asked}` : path
  }
  const chips = (list: DirectoryData['names']) => (
    <Chips
      items={list.map((it) => ({ href: paths.entity(kind, it), name: it.name, talks: it.talks }))}
    />
  )
  return (
    <PageLayout
      name="names"
      title={title}
      description={`${title}: ${number(count)}`}
      canonical={at(character, pager.page)}
      preview={{ type: 'website' }}
    >
      <header class="collection-head">
        <h1>{title}</h1>
        <p class="facts">{counted(count, number(count))}</p>
      </header>
      {common.length > 0 && (
        <section aria-labelledby="common">
          <h2 id="common">{words.commonTags}</h2>
          {chips(common)}
        </section>
      )}
      <section aria-labelledby="by-letter">
        <h2 id="by-letter">{words.byLetter}</h2>
        <nav aria-label={words.byLetter}>
          <ul class="plain row jump">
            {letters.map((it) => (
              <li key={it}>
                <a href={href(at(it))} aria-current={it === character ? 'true' : undefined}>
                  {it.toUpperCase()}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        {names.length === 0 ? <p>{words.noTalks}</p> : chips(names)}
        <PagerNav pager={pager} to={(page) => at(character, page)} />
      </section>
    </PageLayout>
  )
}
