import type { Import } from '@talkshelf/contract'
import type { ComponentChildren } from 'preact'
import { deskPaths } from '../paths.ts'
import { importName } from './import-name.ts'
import { DeskLayout } from './layout.tsx'
import { ReplacementInbox, type ReplacementQueue } from './links.tsx'
import { ListKeys, listItem } from './list-keys.tsx'
import { englishOn } from './server-text.ts'
import { type ListedRequest, SpeakerRequests } from './speaker-links.tsx'
import { SuggestionInbox, type SuggestionQueue } from './suggestions.tsx'
import { useDesk } from './view.ts'

export interface DeskHomeData {
  /** Why a decision about a copy of a video was not saved, in English. */
  readonly refusal?: string | undefined
  readonly hasPasskey: boolean
  /** Talks with changes that the person has not saved. */
  readonly copies: readonly {
    readonly id: number
    readonly title: string
    readonly saved: string
  }[]
  /** Imports that were planned and not applied, the oldest first. */
  readonly imports: readonly Import[]
  /** Drafts that go live at a time, the next one first. */
  readonly scheduled: readonly {
    readonly id: number
    readonly title: string
    readonly publish_at: string
    readonly by: string
  }[]
  /** Suggestions that the person may decide. */
  readonly suggestions: SuggestionQueue | undefined
  /** Copies of videos that the person may accept. */
  readonly replacements: ReplacementQueue | undefined
  /** What speakers ask for, the oldest first. */
  readonly requests: readonly ListedRequest[]
}

/** The first page of the desk: what waits for the person. */
export function DeskHome({
  refusal,
  hasPasskey,
  copies,
  imports,
  scheduled,
  ...data
}: DeskHomeData) {
  const { words, href, person, time, age, number, locale } = useDesk()
  const text = words.inbox
  const isEditor = person !== undefined && person.role !== 'suggester'
  const mayEdit = isEditor || (person?.events.length ?? 0) > 0
  const { suggestions, replacements, requests } = data
  const open = suggestions?.count ?? 0
  const waiting = requests.length + open + (replacements?.count ?? 0)
  const isEmpty = copies.length + imports.length + scheduled.length + waiting === 0
  return (
    <DeskLayout title={words.welcome(person?.name ?? '')}>
      {refusal !== undefined && (
        <p class="notice" role="alert">
          {words.links.notSaved} <span lang={englishOn(locale)}>{refusal}</span>
        </p>
      )}
      {!hasPasskey && (
        <p class="notice">
          <a href={href(deskPaths.account)}>{words.addPasskeyFirst}</a>
        </p>
      )}
      <SpeakerRequests requests={requests} />
      {suggestions && <SuggestionInbox queue={suggestions} />}
      {replacements && <ReplacementInbox queue={replacements} />}
      <Items title={text.copies}>
        {copies.map(({ id, title, saved }) => (
          <Item key={id} path={deskPaths.talk(id)} title={title}>
            {text.copySaved(age(saved))}
          </Item>
        ))}
      </Items>
      <Items title={text.imports}>
        {imports.map(({ by, created, planned, followed_source: source, ...job }) => (
          <Item key={job.id} path={deskPaths.importPage(job.id)} title={importName(job, words)}>
            {text.importStarted(by, age(`${created}Z`))}
            {source !== null && ` · ${words.followedSources.fromSource}`}
            {!!planned.conflict && ` · ${text.conflicts(number(planned.conflict))}`}
          </Item>
        ))}
      </Items>
      <Items title={text.scheduled}>
        {scheduled.map(({ id, title, publish_at, by }) => (
          <Item key={id} path={deskPaths.talk(id)} title={title}>
            {text.scheduledBy(time(publish_at), age(publish_at), by)}
          </Item>
        ))}
      </Items>
      {!isEmpty && <ListKeys more={open > 0 ? words.suggestions.keyTexts : {}} />}
      {mayEdit && isEmpty && <p>{text.empty}</p>}
      {mayEdit && (
        <p>
          <a href={href(deskPaths.talks)}>{words.homeTalks}</a>
        </p>
      )}
      {isEditor && (
        <p>
          <a href={href(deskPaths.speakers)}>{words.entities.homeLink}</a>
        </p>
      )}
      {isEditor && (
        <p>
          <a href={href(deskPaths.quality)}>{words.quality.homeLink}</a>
        </p>
      )}
      {isEditor && (
        <p>
          <a href={href(deskPaths.links)}>{words.links.homeLink}</a>
        </p>
      )}
      {isEditor && (
        <p>
          <a href={href(deskPaths.imports)}>{words.imports.homeLink}</a>
        </p>
      )}
      {!mayEdit && <p>{words.homeNothing}</p>}
    </DeskLayout>
  )
}

/** A list with its title, if it has items. */
function Items({ title, children }: { title: string; children: ComponentChildren[] }) {
  if (children.length === 0) return null
  return (
    <section>
      <h2>{title}</h2>
      <ul class="rows">{children}</ul>
    </section>
  )
}

interface ItemProps {
  readonly path: string
  readonly title: string
  readonly children: ComponentChildren
}

function Item({ path, title, children }: ItemProps) {
  const { href } = useDesk()
  return (
    <li>
      <a href={href(path)} dir="auto" {...listItem}>
        {title}
      </a>
      <span class="help">{children}</span>
    </li>
  )
}
