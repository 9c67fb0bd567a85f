import { bibtex, cslJson, plainCitation } from '../cite.ts'
import type { Card, Talk, TalkData } from '../data.ts'
import { breadcrumbsJsonLd, jsonLdText, videoJsonLd } from '../json-ld.ts'
import { recogniseLicence } from '../licence.ts'
import { plainText } from '../markdown.ts'
import { Cards, EntityLink, EntityLinks, RecordedDate } from '../parts/card.tsx'
import { Chips } from '../parts/chips.tsx'
import { PageLayout } from '../parts/page.tsx'
import { isRecordingLost, Player, stateText } from '../parts/player.tsx'
import { deskPaths, paths } from '../paths.ts'
import { useView } from '../view.ts'

/** The watch page. */
export function TalkPage({
  talk,
  texts,
  also,
  bySpeakers,
  atEvent,
  similar,
  at,
  ...more
}: TalkData) {
  const view = useView()
  const { credits } = more
  const { words, locale } = view
  const path = paths.talk(talk)
  const text = plainText(talk.summary || talk.description, 200)
  const speakers = talk.speakers.map(({ name }) => name).join(', ')
  const lang = talk.language.code === locale ? undefined : talk.language.code
  const isLost = isRecordingLost(talk)
  const steps = [
    { name: view.site.name, path: paths.home },
    { name: talk.category.name, path: paths.entity('category', talk.category) },
    { name: talk.title, path },
  ]
  return (
    <PageLayout
      name="talk"
      title={talk.title}
      description={text || [speakers, talk.category.name].filter(Boolean).join(' · ')}
      canonical={path}
      preview={{
        type: isLost ? 'website' : 'video.other',
        picture: paths.preview(talk.id, talk.pictureVersion),
      }}
      oEmbed={`${paths.oEmbed}?${new URLSearchParams({ url: view.origin + path, format: 'json' })}`}
      jsonLd={[
        videoJsonLd(talk, view.origin, view.site.licence),
        breadcrumbsJsonLd(steps, view.origin),
      ].map(jsonLdText)}
    >
      <article class="talk">
        <div class="talk-main">
          <Player talk={talk} at={at} />
          <header dir="auto">
            <h1 lang={lang}>{talk.title}</h1>
            {talk.speakers.length > 0 && (
              <p class="talk-who">
                <EntityLinks kind="speaker" names={talk.speakers} />
              </p>
            )}
            <p class="talk-where">
              {/* The separator belongs to the span, which has the direction of the header. */}
              <span>
                <EntityLink kind="category" entity={talk.category} />
              </span>{' '}
              {talk.recorded && <RecordedDate day={talk.recorded} />}
            </p>
            <p class="print-only">{view.origin + path}</p>
          </header>
          <Text texts={texts} lang={lang} />
          {talk.tags.length > 0 && (
            <Chips
              items={talk.tags.map((tag) => ({ href: paths.entity('tag', tag), name: tag.name }))}
            />
          )}
          <Cite talk={talk} />
        </div>
        <aside class="talk-side" aria-label={words.details}>
          <Details talk={talk} credits={credits} />
          {also.length > 0 && <AlsoGiven talks={also} />}
        </aside>
      </article>
      <Related
        title={words.moreBySpeakers(talk.speakers.length, talk.speakers[0]?.name ?? '')}
        cards={bySpeakers}
      />
      <Related title={words.similar} cards={similar} />
      <Related
        title={words.moreAtEvent(talk.category.name)}
        cards={atEvent}
        without={['category']}
      />
    </PageLayout>
  )
}

/** The same talk at other events. */
function AlsoGiven({ talks }: { talks: readonly Card[] }) {
  const { words, href } = useView()
  return (
    <section>
      <h2>{words.alsoGiven}</h2>
      <ul class="plain">
        {talks.map((talk) => (
          <li key={talk.id}>
            <a href={href(paths.talk(talk))}>{talk.category.name}</a>{' '}
            <RecordedDate day={talk.recorded} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Related({
  title,
  cards,
  without,
}: {
  title: string
  cards: readonly Card[]
  without?: readonly 'category'[]
}) {
  if (cards.length === 0) return null
  return (
    <section class="shelf">
      <h2>{title}</h2>
      <Cards cards={cards} shape="shelf" {...(without && { without })} />
    </section>
  )
}

function Text({ texts, lang }: { texts: TalkData['texts']; lang: string | undefined }) {
  const { words } = useView()
  return (
    <section class="prose" aria-labelledby="description">
      <h2 id="description">{words.description}</h2>
      {texts.length === 0 && <p>{words.noDescription}</p>}
      {texts.map((html) => (
        <div key={html} lang={lang} dir="auto" dangerouslySetInnerHTML={{ __html: html }} />
      ))}
    </section>
  )
}

function Details({ talk, credits }: Pick<TalkData, 'talk' | 'credits'>) {
  const view = useView()
  const { words, href } = view
  const minutes = talk.seconds ? Math.max(1, Math.round(talk.seconds / 60)) : 0
  return (
    <section class="details">
      <h2>{words.details}</h2>
      <dl>
        <dt>{words.event}</dt>
        <dd>
          <EntityLink kind="category" entity={talk.category} />
        </dd>
        <dt>{words.recorded}</dt>
        <dd>
          <RecordedDate day={talk.recorded} unknown={words.dateUnknown} />
        </dd>
        {minutes > 0 && (
          <>
            <dt>{words.lengthLabel}</dt>
            <dd>
              {words.length(Math.floor(minutes / 60), minutes % 60)}
              {talk.isLengthDoubtful && ` (${words.lengthDoubtful})`}
            </dd>
          </>
        )}
        <dt>{words.language}</dt>
        <dd>
          <a href={href(paths.language(talk.language.slug))}>
            {view.language(talk.language.code, talk.language.name)}
          </a>
        </dd>
        <dt>{words.licence}</dt>
        <dd>
          <Licence text={talk.copyrightText} />
        </dd>
        {talk.qualityNotes && (
          <>
            <dt>{words.notes}</dt>
            <dd dir="auto">{talk.qualityNotes}</dd>
          </>
        )}
      </dl>
      {/* The player lists them if it has something to play. */}
      {talk.sources.length === 0 && talk.elsewhere.length > 0 && (
        <Links title={words.sources} links={talk.elsewhere} />
      )}
      {talk.downloads.length > 0 && <Links title={words.downloads} links={talk.downloads} />}
      {talk.links.length > 0 && <Links title={words.links} links={talk.links} />}
      <p>
        {/* Changes are made in the archive that this one is a copy of. */}
        <a href={(view.site.source ?? view.base) + paths.suggest(talk)} rel="nofollow">
          {words.suggest.link}
        </a>
      </p>
      {credits.length > 0 && (
        <p>
          {words.suggest.thanksTo}{' '}
          {credits.map((name, index) => (
            <>
              {index > 0 && ', '}
              <bdi key={name}>{name}</bdi>
            </>
          ))}
        </p>
      )}
      <p>
        <a href={href(paths.record(talk.id))} rel="nofollow">
          {words.asJson}
        </a>
      </p>
      <p>
        <a href={href(deskPaths.talk(talk.id))} rel="nofollow" data-edit>
          {words.editTalk}
        </a>
      </p>
    </section>
  )
}

function Links({ title, links }: { title: string; links: Talk['links'] }) {
  const { words, number, month } = useView()
  return (
    <>
      <h3>{title}</h3>
      <ul class="plain">
        {links.map(({ address, label, size, status }) => (
          <li key={address}>
            <a href={address} rel="nofollow noopener ugc">
              {label}
            </a>
            {size ? ` (${number(Math.max(1, Math.round(size / 1e6)))} MB)` : ''}
            {status && ` (${stateText(status, words, month)})`}
          </li>
        ))}
      </ul>
    </>
  )
}

function Licence({ text }: { text: string }) {
  const { words } = useView()
  const licence = recogniseLicence(text)
  if (licence?.url)
    return (
      <a href={licence.url} rel="license noopener">
        {licence.name}
      </a>
    )
  return <span dir="auto">{licence?.name ?? (plainText(text, 300) || words.licenceUnknown)}</span>
}

function Cite({ talk }: { talk: Talk }) {
  const view = useView()
  const { words } = view
  const formats = [
    [
      words.citePlain,
      plainCitation(talk, view.origin).map(({ text, isIsolated }, index) =>
        isIsolated ? <bdi key={index}>{text}</bdi> : text,
      ),
    ],
    ['BibTeX', bibtex(talk, view.origin)],
    ['CSL-JSON', JSON.stringify([cslJson(talk, view.origin)], null, 2)],
  ] as const
  return (
    <section class="cite" aria-labelledby="cite">
      <h2 id="cite">{words.cite}</h2>
      {formats.map(([name, text], index) => (
        <details key={name} name="cite" open={index === 0}>
          <summary>{name}</summary>
          <pre tabindex={0} id={`cite-${index}`} dir="ltr">
            {text}
          </pre>
          <button type="button" class="with-scripts" data-copy-text={`cite-${index}`}>
            {words.copy} <span class="unseen">{name}</span>
          </button>
        </details>
      ))}
    </section>
  )
}
