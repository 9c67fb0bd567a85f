import type { PictureRefusal } from '@talkshelf/contract'
import type { ComponentChildren } from 'preact'
import { deskEntityPaths, deskPaths, type EntityPageKind, paths } from '../paths.ts'
import {
  AffectedTalks,
  type PreviewedTalk,
  TalkName,
  type TalkPreview,
  TalkRows,
} from './entities.tsx'
import { ProfileForm, type ProfileValues } from './entity-profile.tsx'
import { Field, Form, TextArea } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

/** The names of an entity as texts of a form: lists have one value per line. */
export interface EntityNames {
  readonly name: string
  readonly aliases: string
  readonly hidden_names: string
  readonly retired_slugs: string
}

export interface MergedEntity {
  readonly name: string
  readonly slug: string
  readonly at: string
  readonly by: string
  readonly canUndo: boolean
}

export interface EntityPageData {
  readonly kind: EntityPageKind
  readonly id: number
  readonly slug: string
  /** The current name, whatever the form contains. */
  readonly title: string
  readonly talks: number
  /** The version that the forms change. */
  readonly etag: string
  readonly names: EntityNames
  readonly oldSlugs: readonly string[]
  readonly profile: ProfileValues
  /** Whether it has a logo or a picture. */
  readonly hasPicture: boolean
  /** Why the picture in the form was refused. */
  readonly pictureError: PictureRefusal | undefined
  readonly merges: readonly MergedEntity[]
  /** Errors by the name of the field; `form` is about no single field. */
  readonly errors: Readonly<Record<string, string>>
  /** Why the form of the merge was refused. */
  readonly mergeError: (typeof mergeErrors)[number] | undefined
  readonly isStale: boolean
}

export const mergeErrors = ['unknown', 'same'] as const

/** One speaker, tag or event: names, profile, merge, split. */
export function EntityPage(data: EntityPageData) {
  const { kind, id, slug, title, talks, isStale, merges, errors, mergeError } = data
  const { words, href, number, person } = useDesk()
  const text = words.entities
  return (
    <DeskLayout title={title}>
      <p class="toolbar">
        <a href={href(deskEntityPaths[kind].list)}>{text.titles[kind]}</a>
        {(talks > 0 || kind === 'category') && (
          <a href={href(paths.entity(kind, { id, slug }))}>{text.public}</a>
        )}
        <span>{text.talks(number(talks), talks)}</span>
      </p>
      {isStale && (
        <p class="notice" role="alert">
          {text.stale}
        </p>
      )}
      {errors.form !== undefined && (
        <p class="error" role="alert">
          {errors.form}
        </p>
      )}
      {merges.length > 0 && <Merges kind={kind} merges={merges} />}
      <NamesForm {...data} />
      <ProfileForm {...data} />
      <section>
        <h2>{text.merge}</h2>
        <form action={href(deskEntityPaths[kind].merge)}>
          <input type="hidden" name="group" value={slug} />
          <Field
            label={text.mergeInto}
            name="into"
            error={mergeError && text.mergeErrors[mergeError]}
            maxLength={255}
            autocomplete="off"
            required
          />
          <button type="submit" class="quiet">
            {text.mergePreview}
          </button>
        </form>
      </section>
      {kind === 'speaker' && (
        <section>
          <h2>{text.split}</h2>
          <p>
            {text.splitHelp} <a href={href(deskPaths.splitSpeaker(slug))}>{text.split}</a>
          </p>
          <h2>{words.speakerLinks.link}</h2>
          <p>
            {words.speakerLinks.linkHelp}{' '}
            <a href={href(deskPaths.speakerLinks(slug))}>{words.speakerLinks.link}</a>
          </p>
          {person?.role === 'admin' && (
            <>
              <h2>{words.nameChanges.link}</h2>
              <p>
                {words.nameChanges.linkHelp}{' '}
                <a href={href(deskPaths.speakerName(slug))}>{words.nameChanges.link}</a>
              </p>
            </>
          )}
        </section>
      )}
    </DeskLayout>
  )
}

function Merges({ kind, merges }: Pick<EntityPageData, 'kind' | 'merges'>) {
  const { words, href, time } = useDesk()
  const text = words.entities
  return (
    <section>
      <h2>{text.merges}</h2>
      <ul class="rows">
        {merges.map(({ name, slug, at, by, canUndo }) => (
          <li key={slug}>
            <div>
              <span dir="auto">{name}</span>
              <p class="help">{text.mergedBy(by, time(at))}</p>
            </div>
            {canUndo ? (
              <a href={href(deskEntityPaths[kind].unmerge(slug))} aria-label={text.undoMerge(name)}>
                {text.undo}
              </a>
            ) : (
              <span class="help">{text.cannotUndo}</span>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function NamesForm({ kind, slug, etag, names, oldSlugs, errors }: EntityPageData) {
  const { words } = useDesk()
  const text = words.entities
  return (
    <section>
      <h2>{text.names}</h2>
      <Form action={deskEntityPaths[kind].page(slug)}>
        <input type="hidden" name="etag" value={etag} />
        <Field
          label={text.name}
          name="name"
          value={names.name}
          error={errors.name}
          maxLength={255}
          autocomplete="off"
          required
        />
        <TextArea
          label={text.aliases}
          name="aliases"
          value={names.aliases}
          help={text.aliasesHelp}
          error={errors.aliases}
        />
        <TextArea
          label={text.hiddenNames}
          name="hidden_names"
          value={names.hidden_names}
          help={text.hiddenNamesHelp}
          error={errors.hidden_names}
        />
        {oldSlugs.length > 0 && <p class="help">{text.oldSlugs(oldSlugs.join(', '))}</p>}
        <TextArea
          label={text.retiredSlugs}
          name="retired_slugs"
          value={names.retired_slugs}
          help={text.retiredSlugsHelp}
          error={errors.retired_slugs}
        />
        <button type="submit">{text.saveNames}</button>
      </Form>
    </section>
  )
}

interface PreviewProps {
  readonly title: string
  readonly backTo: string
  readonly isStale: boolean
  readonly children: ComponentChildren
}

/** The layout of a page that shows what a change would do. */
function Preview({ title, backTo, isStale, children }: PreviewProps) {
  const { words, href } = useDesk()
  return (
    <DeskLayout title={title}>
      <p>
        <a href={href(backTo)}>{words.entities.back}</a>
      </p>
      {isStale && (
        <p class="notice" role="alert">
          {words.entities.stale}
        </p>
      )}
      {children}
    </DeskLayout>
  )
}

export interface RenameData extends TalkPreview {
  readonly kind: EntityPageKind
  readonly slug: string
  readonly title: string
  readonly etag: string
  readonly names: EntityNames
  readonly isStale: boolean
}

/** What a rename would change. */
export function RenameEntity({ kind, slug, title, etag, names, isStale, ...preview }: RenameData) {
  const { words, number } = useDesk()
  const text = words.entities
  const page = deskEntityPaths[kind].page(slug)
  return (
    <Preview title={text.renameTitle(title, names.name)} backTo={page} isStale={isStale}>
      <p>{text.renameHelp}</p>
      <Form action={page}>
        <input type="hidden" name="etag" value={etag} />
        <input type="hidden" name="confirmed" value="1" />
        {Object.entries(names).map(([field, value]) => (
          <input key={field} type="hidden" name={field} value={value} />
        ))}
        <button type="submit">{text.renameButton(number(preview.count), preview.count)}</button>
      </Form>
      <AffectedTalks {...preview} />
    </Preview>
  )
}

export interface UnmergeData {
  readonly kind: EntityPageKind
  readonly name: string
  readonly slug: string
  readonly into: { readonly name: string; readonly slug: string; readonly etag: string }
  readonly changed: TalkPreview
  readonly kept: TalkPreview
  readonly isStale: boolean
  readonly isLarge: boolean
  readonly error: string | undefined
}

/** What the undo of a merge would change. */
export function UnmergeEntity(data: UnmergeData) {
  const { kind, name, slug, into, changed, kept, isStale, isLarge, error } = data
  const { words, number } = useDesk()
  const text = words.entities
  const pages = deskEntityPaths[kind]
  return (
    <Preview title={text.undoMerge(name)} backTo={pages.page(into.slug)} isStale={isStale}>
      {error !== undefined && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <p>{text.undoHelp(name, into.name)}</p>
      {isLarge && <p class="notice">{text.confirmLarge}</p>}
      <Form action={pages.unmerge(slug)}>
        <input type="hidden" name="etag" value={into.etag} />
        <button type="submit">{text.undoButton(number(changed.count), changed.count)}</button>
      </Form>
      <AffectedTalks {...changed} />
      {kept.count > 0 && (
        <section>
          <h2>{text.kept(number(kept.count), kept.count)}</h2>
          <TalkRows talks={kept.talks} />
        </section>
      )}
    </Preview>
  )
}

export interface SplitData {
  readonly slug: string
  readonly title: string
  readonly etag: string
  readonly name: string
  readonly talks: readonly PreviewedTalk[]
  readonly chosen: readonly number[]
  /** The id after which the next page begins. */
  readonly next: number | undefined
  readonly isStale: boolean
  /** Whether no talk was chosen. */
  readonly isEmpty: boolean
  readonly errors: Readonly<Record<string, string>>
}

/** The talks of a speaker, to choose those of another one. */
export function SplitSpeaker(data: SplitData) {
  const { slug, title, etag, name, talks, chosen, next, isStale, isEmpty, errors } = data
  const { words, href } = useDesk()
  const text = words.entities
  const path = deskPaths.splitSpeaker(slug)
  return (
    <Preview title={text.splitTitle(title)} backTo={deskPaths.speaker(slug)} isStale={isStale}>
      <Form action={path}>
        <input type="hidden" name="etag" value={etag} />
        <Field
          label={text.splitName}
          help={text.splitNameHelp}
          name="name"
          value={name}
          error={errors.name}
          maxLength={255}
          autocomplete="off"
          required
        />
        <fieldset class="field">
          <legend>{text.splitTalks}</legend>
          {isEmpty && <p class="error">{text.splitNoTalks}</p>}
          {errors.videos !== undefined && <p class="error">{errors.videos}</p>}
          {talks.map((talk) => (
            <label key={talk.id} class="choice">
              <input
                type="checkbox"
                name={`video_${talk.id}`}
                value="1"
                checked={chosen.includes(talk.id)}
              />
              <TalkName {...talk} />
            </label>
          ))}
        </fieldset>
        <button type="submit">{text.splitButton}</button>
      </Form>
      {next !== undefined && (
        <p>
          <a href={href(`${path}?after=${next}`)}>{text.moreTalks}</a>
        </p>
      )}
    </Preview>
  )
}
