import type { Source } from '@talkshelf/contract'
import type { ComponentChildren } from 'preact'
import { deskPaths } from '../paths.ts'
import { Field, Form } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { TalkSources } from './links.tsx'
import { mediaFields, type TalkField, type TalkValues } from './talk-values.ts'
import { useDesk } from './view.ts'

type Errors = Readonly<Partial<Record<TalkField | 'publish_at', string>>>

export interface EditorData {
  readonly id: number
  readonly title: string
  /** The public page of the talk. */
  readonly path: string
  readonly isLive: boolean
  /** When the draft goes live. */
  readonly publishAt?: string | undefined
  /** The time that was typed and refused. */
  readonly publishAtText?: string | undefined
  /** Records that were merged into this one. */
  readonly merged: readonly number[]
  /** The version that the editor sees. */
  readonly revision: number
  readonly values: TalkValues
  readonly errors?: Errors
  /** When the editor typed what was not saved, if the form has it. */
  readonly restored?: string
  /** Where its video is. */
  readonly sources: readonly Source[]
  /** The texts as HTML. */
  readonly previews: { readonly summary: string; readonly description: string }
  readonly neighbours?: Neighbours
}

/** The list from which a talk was opened, and the paths of the talks before and after it. */
export interface Neighbours {
  /** A query that identifies the list. */
  readonly list: string
  readonly listPath: string
  readonly previous: string | undefined
  readonly next: string | undefined
}

/** The form of a talk. */
export function Editor(data: EditorData) {
  const { words, href, time, person, formToken } = useDesk()
  const { id, title, path, isLive, revision, values, errors = {}, restored, previews } = data
  const { neighbours, publishAt, merged } = data
  return (
    <DeskLayout title={title}>
      <div class="toolbar">
        <span class={isLive ? 'mark' : 'mark warn'}>{isLive ? words.live : words.draft}</span>
        {isLive && <a href={href(path)}>{words.watchPage}</a>}
        <a href={href(deskPaths.talkPreview(id))} target="_blank" rel="noopener">
          {words.previewTalk}
        </a>
        <a href={href(deskPaths.talkHistory(id))}>{words.history}</a>
        <a href={href(deskPaths.mergeTalks(id))}>{words.quality.sameAs}</a>
        {merged.map((other) => (
          <a key={other} href={href(deskPaths.talkHistory(other))}>
            {words.quality.mergedHere(other)}
          </a>
        ))}
        {neighbours && (
          <nav class="toolbar" aria-label={words.list}>
            <a href={href(neighbours.listPath)}>{words.list}</a>
            {neighbours.previous && (
              <a href={href(neighbours.previous)} rel="prev" aria-keyshortcuts="Alt+ArrowLeft">
                {words.previousTalk}
              </a>
            )}
            {neighbours.next && (
              <a href={href(neighbours.next)} rel="next" aria-keyshortcuts="Alt+ArrowRight">
                {words.nextTalk}
              </a>
            )}
          </nav>
        )}
        {person?.role === 'admin' && <a href={href(deskPaths.takedown(id))}>{words.takeDown}</a>}
      </div>
      {publishAt !== undefined && (
        <div class="notice">
          <p>{words.goesLive(time(publishAt))}</p>
          <Form action={deskPaths.cancelPublication(id)}>
            <button type="submit" class="quiet">
              {words.cancelPublication}
            </button>
          </Form>
        </div>
      )}
      {restored !== undefined && (
        <div class="notice" role="status">
          <p>{words.copyRestored(time(restored))}</p>
          <Form action={deskPaths.discardCopy(id)}>
            <button type="submit" class="quiet">
              {words.discardCopy}
            </button>
          </Form>
        </div>
      )}
      <ErrorSummary errors={errors} />
      <Form
        action={deskPaths.talk(id)}
        class="editor"
        data={{
          'data-editor': href(deskPaths.talkCopy(id)),
          'data-copy-token': formToken(deskPaths.talkCopy(id)),
          'data-kept': words.copyKept,
          'data-unsaved': words.copyFailed,
        }}
      >
        <input type="hidden" name="revision" value={revision} />
        {neighbours && <input type="hidden" name="list" value={neighbours.list} />}
        <TalkFieldsets
          values={values}
          errors={errors}
          previews={previews}
          picture={deskPaths.talkPicture(id)}
        />
        <div class="actions">
          <button type="submit" aria-keyshortcuts="Control+S">
            {words.save}
          </button>
          {isLive ? (
            <button type="submit" name="state" value="2" class="quiet">
              {words.saveAsDraft}
            </button>
          ) : (
            <button type="submit" name="state" value="1" aria-keyshortcuts="Control+Enter">
              {words.saveAndPublish}
            </button>
          )}
          <output class="help" data-saved />
        </div>
        {!isLive && <ScheduleFields value={data.publishAtText} error={errors.publish_at} />}
      </Form>
      <p class="help with-scripts">{words.editorKeys}</p>
      <TalkSources talk={id} sources={data.sources} />
    </DeskLayout>
  )
}

/** When to publish a draft. The script takes the time zone of the browser instead of UTC. */
function ScheduleFields({ value, error }: Record<'value' | 'error', string | undefined>) {
  const { words } = useDesk()
  return (
    <details open={error !== undefined}>
      <summary>{words.publishLater}</summary>
      <Field
        label={words.publishAt('UTC')}
        name="publish_at"
        type="datetime-local"
        value={value}
        error={error}
        data={{ 'data-time-zone': words.publishAt('%') }}
      />
      <input type="hidden" name="publish_at_utc" />
      <button type="submit" name="schedule" value="1">
        {words.saveAndSchedule}
      </button>
    </details>
  )
}

export interface NewTalkData {
  readonly values: TalkValues
  readonly errors: Errors
}

/** The form of a new talk. */
export function NewTalk({ values, errors }: NewTalkData) {
  const { words } = useDesk()
  return (
    <DeskLayout title={words.newTalk}>
      <ErrorSummary errors={errors} />
      <Form action={deskPaths.newTalk} class="editor" data={{ 'data-editor': '' }}>
        <TalkFieldsets values={values} errors={errors} />
        <div class="actions">
          <button type="submit" name="state" value="1">
            {words.publish}
          </button>
          <button type="submit" name="state" value="2" class="quiet">
            {words.saveDraft}
          </button>
        </div>
      </Form>
    </DeskLayout>
  )
}

function ErrorSummary({ errors }: { errors: Errors }) {
  const { words } = useDesk()
  const fields = Object.entries(errors) as [keyof Errors, string][]
  if (fields.length === 0) return null
  return (
    <div class="notice" role="alert">
      <p>{words.notSaved}</p>
      <ul>
        {fields.map(([field, error]) => (
          <li key={field}>
            <a href={`#field-${field}`}>
              {field === 'publish_at' ? words.publishLater : words.talkFields[field]}
            </a>{' '}
            {error}
          </li>
        ))}
      </ul>
    </div>
  )
}

interface TalkFieldsetsProps {
  readonly values: TalkValues
  readonly errors: Errors
  readonly previews?: EditorData['previews']
  /** The path of the picture of the talk. */
  readonly picture?: string
}

/** All fields of a talk, in groups. */
function TalkFieldsets({ values, errors, previews, picture }: TalkFieldsetsProps) {
  const { words, href } = useDesk()
  const line = (field: TalkField, more: object = {}) => (
    <Field
      label={words.talkFields[field]}
      name={field}
      value={values[field]}
      error={errors[field]}
      autocomplete="off"
      {...more}
    />
  )
  const text = (field: TalkField, rows: number, more: Partial<TextProps> = {}) => (
    <TextField field={field} rows={rows} value={values[field]} error={errors[field]} {...more} />
  )
  return (
    <>
      <Group title={words.groups.what}>
        {line('title', { required: true, maxLength: 255 })}
        {line('category', {
          required: true,
          help: words.categoryHelp,
          data: { 'data-complete': 'categories' },
        })}
        {line('language', { required: true })}
        {text('tags', 3, { help: words.onePerLine, complete: 'tags' })}
        {text('summary', 3, { help: words.markdownHelp, preview: previews?.summary })}
        {text('description', 10, { help: words.markdownHelp, preview: previews?.description })}
      </Group>
      <Group title={words.groups.who}>
        {text('speakers', 3, { help: words.onePerLine, complete: 'speakers' })}
      </Group>
      <Group title={words.groups.when}>
        {line('recorded', { type: 'date' })}
        {line('duration', { help: words.durationHelp })}
      </Group>
      <Group title={words.groups.where}>
        {line('source_url', { inputMode: 'url', help: words.sourceHelp })}
        {line('thumbnail_url', { inputMode: 'url' })}
        {picture && (
          <img class="thumbnail" src={href(picture)} alt={words.picture} loading="lazy" />
        )}
        <details>
          <summary>{words.files}</summary>
          {mediaFields.map(({ format, url, length, downloadOnly }) => (
            <div key={format} class="media">
              {line(url, { inputMode: 'url' })}
              {line(length, { inputMode: 'numeric' })}
              <div class="field">
                <input type="hidden" name={downloadOnly} value="0" />
                <label class="choice">
                  <input
                    type="checkbox"
                    name={downloadOnly}
                    value="1"
                    checked={values[downloadOnly] === '1'}
                  />
                  {words.talkFields[downloadOnly]}
                </label>
              </div>
            </div>
          ))}
          {text('embed', 3)}
        </details>
      </Group>
      <Group title={words.groups.rights}>{text('copyright_text', 2)}</Group>
      <Group title={words.groups.notes}>
        {text('quality_notes', 2)}
        {text('whiteboard', 2, { help: words.whiteboardHelp })}
      </Group>
    </>
  )
}

function Group({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <fieldset class="group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  )
}

interface TextProps {
  readonly field: TalkField
  readonly rows: number
  readonly value: string
  readonly error?: string | undefined
  readonly help?: string
  /** The kind of names that the script suggests. */
  readonly complete?: 'speakers' | 'tags'
  /** The text as HTML, shown beside it. */
  readonly preview?: string | undefined
}

function TextField({ field, rows, value, error, help, complete, preview }: TextProps) {
  const { words } = useDesk()
  const ids = [error === undefined ? '' : `${field}-error`, help ? `${field}-help` : '']
  return (
    <div class="field text">
      <label for={`field-${field}`}>{words.talkFields[field]}</label>
      <textarea
        id={`field-${field}`}
        name={field}
        rows={rows}
        autocomplete="off"
        aria-describedby={ids.filter(Boolean).join(' ') || undefined}
        aria-invalid={error === undefined ? undefined : 'true'}
        data-complete={complete}
      >
        {/* The browser drops the first line break. */}
        {`\n${value}`}
      </textarea>
      {error !== undefined && (
        <p class="error" id={`${field}-error`}>
          {error}
        </p>
      )}
      {help && (
        <p class="help" id={`${field}-help`}>
          {help}
        </p>
      )}
      {preview !== undefined && (
        <details class="preview">
          <summary>{words.preview}</summary>
          {/* Rendered and sanitized like the page of the talk. */}
          <div data-preview={field} dangerouslySetInnerHTML={{ __html: preview }} />
        </details>
      )}
    </div>
  )
}

export interface MergeEditData {
  readonly id: number
  readonly title: string
  readonly revision: number
  readonly state: number | undefined
  /** When the draft shall go live. */
  readonly publishAt: string | undefined
  /** Changes that need no decision. */
  readonly kept: readonly (readonly [field: TalkField, text: string])[]
  readonly fields: readonly {
    readonly field: TalkField
    readonly base: string
    readonly current: string
    readonly edited: string
  }[]
}

/** Asks which value to keep, for fields that both the editor and others changed. */
export function MergeEdit(data: MergeEditData) {
  const { id, title, revision, state, publishAt, kept, fields } = data
  const { words, href } = useDesk()
  return (
    <DeskLayout title={words.mergeTitle(title)}>
      <p>{words.mergeHelp}</p>
      <Form action={deskPaths.talkMerge(id)} class="merge" data={{ 'data-merge': '' }}>
        <input type="hidden" name="revision" value={revision} />
        {state !== undefined && <input type="hidden" name="state" value={state} />}
        {publishAt !== undefined && (
          <>
            <input type="hidden" name="schedule" value="1" />
            <input type="hidden" name="publish_at_utc" value={publishAt} />
          </>
        )}
        {kept.map(([field, text]) => (
          <input key={field} type="hidden" name={field} value={text} />
        ))}
        {fields.map(({ field, base, current, edited }) => (
          <fieldset key={field} class="group" data-choices>
            <legend>{words.talkFields[field]}</legend>
            {(
              [
                ['base', words.mergeBase, base],
                ['current', words.mergeCurrent, current],
                ['edited', words.mergeEdited, edited],
              ] as const
            ).map(([choice, label, text], index) => (
              <label key={choice} class="choice">
                <input
                  type="radio"
                  name={`choice_${field}`}
                  value={choice}
                  checked={choice === 'edited'}
                  aria-keyshortcuts={String(index + 1)}
                />
                <span>
                  <b>
                    <kbd class="with-scripts">{index + 1}</kbd> {label}
                  </b>
                  <span class="value">{text || words.emptyValue}</span>
                </span>
                <input type="hidden" name={`${choice}_${field}`} value={text} />
              </label>
            ))}
            <label class="choice">
              <input type="radio" name={`choice_${field}`} value="other" />
              <span>
                <b>{words.mergeOther}</b>
                <textarea
                  name={`other_${field}`}
                  rows={3}
                  aria-label={`${words.mergeOther}: ${words.talkFields[field]}`}
                >
                  {`\n${edited}`}
                </textarea>
              </span>
            </label>
          </fieldset>
        ))}
        <div class="actions">
          <button type="submit">{words.save}</button>
          <a href={href(deskPaths.talk(id))}>{words.backToEditor}</a>
        </div>
      </Form>
    </DeskLayout>
  )
}

export interface TakedownData {
  readonly id: number
  readonly title: string
  readonly error?: string
}

/** Asks for the reason before a talk is taken down. */
export function TakedownPage({ id, title, error }: TakedownData) {
  const { words, href } = useDesk()
  return (
    <DeskLayout title={words.takedownTitle(title)}>
      <p>{words.takedownHelp}</p>
      <Form action={deskPaths.takedown(id)}>
        <Field
          label={words.takedownReason}
          name="reason"
          help={words.takedownReasonHelp}
          error={error}
          maxLength={1000}
          autocomplete="off"
          required
        />
        <div class="actions">
          <button type="submit" class="danger">
            {words.takeDown}
          </button>
          <a href={href(deskPaths.talk(id))}>{words.backToEditor}</a>
        </div>
      </Form>
    </DeskLayout>
  )
}
