import { type Import, importFormats } from '@talkshelf/contract'
import type { ComponentChildren } from 'preact'
import { deskPaths } from '../paths.ts'
import { Field, FileField, Form } from './form.tsx'
import { importName } from './import-name.ts'
import { DeskLayout } from './layout.tsx'
import { type ServerText, translated } from './server-text.ts'
import { useDesk } from './view.ts'

export interface ImportsData {
  readonly imports: readonly Import[]
  /** The id of the last import of this page, if there are more. */
  readonly next: number | undefined
  readonly form: ImportFormData
}

export interface ImportFormData {
  /** The limit of a file. */
  readonly maxBytes: number
  /** What the form contained, if it was refused. */
  readonly values?: Readonly<Record<string, string>>
  readonly errors?: ImportFormErrors
}

/** Errors by field. Those of the file have a name in the messages, or are texts of the server. */
export interface ImportFormErrors {
  readonly file?:
    | 'missing'
    | 'both'
    | 'empty'
    | 'format'
    | 'too-large'
    | 'damaged'
    | ServerText
    | undefined
  /** Events with similar titles. */
  readonly event?: readonly string[]
  readonly fields?: Readonly<Record<string, ServerText>>
}

/** The list of imports, and a form that starts one. */
export function Imports({ imports, next, form }: ImportsData) {
  const { words, href } = useDesk()
  const text = words.imports
  return (
    <DeskLayout title={text.title}>
      <section>
        <h2>{text.start}</h2>
        <p class="help">{text.startHelp}</p>
        <StartForm {...form} />
        <p>
          <a href={href(deskPaths.followedSources)}>{words.followedSources.link}</a>
        </p>
      </section>
      <section>
        <h2>{text.list}</h2>
        {imports.length === 0 ? <p>{text.none}</p> : <ImportTable imports={imports} />}
        {next !== undefined && (
          <p>
            <a href={href(`${deskPaths.imports}?before=${next}`)}>{text.older}</a>
          </p>
        )}
      </section>
    </DeskLayout>
  )
}

function ImportTable({ imports }: Pick<ImportsData, 'imports'>) {
  const { words, href } = useDesk()
  const text = words.imports
  const columns = [words.name, text.state, text.talks, text.format, text.by, text.started]
  return (
    <section class="scroll" tabindex={0} aria-label={text.list}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {imports.map((job) => (
            <tr key={job.id}>
              <td class="long">
                <a href={href(deskPaths.importPage(job.id))}>
                  <bdi>{importName(job, words)}</bdi>
                </a>
              </td>
              <td>{text.states[job.state]}</td>
              <td>
                {Object.entries(job.planned)
                  .filter(([, count]) => count > 0)
                  .map(([verdict, count]) => (
                    <div key={verdict}>
                      {text.verdicts[verdict as keyof typeof text.verdicts]}: {count}
                    </div>
                  ))}
              </td>
              <td>{job.format || text.unknownFormat}</td>
              <td>
                <bdi>{job.by}</bdi>
              </td>
              <td>
                <Started at={job.created} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** When an import began. The timestamp is UTC and does not say so. */
export function Started({ at }: { at: string }) {
  const { time } = useDesk()
  return <time dateTime={`${at}Z`}>{time(`${at}Z`)}</time>
}

function StartForm({ maxBytes, values = {}, errors = {} }: ImportFormData) {
  const { words } = useDesk()
  const text = words.imports
  const hasMore = ['recorded', 'source', 'keep_titles'].some((name) => values[name])
  const fieldError = (name: string) => translated(errors.fields?.[name], text.byCode)
  const isRefused = Object.values(errors).some((error) => error !== undefined)
  const isFileLost = isRefused && !values.url && errors.file === undefined
  return (
    <Form action={deskPaths.imports} enctype="multipart/form-data">
      {isFileLost && (
        <p class="error" role="alert">
          {text.errors.chooseAgain}
        </p>
      )}
      <ImportFile maxBytes={maxBytes} error={errors.file} />
      <Field
        label={text.url}
        help={text.urlHelp}
        error={fieldError('url')}
        name="url"
        type="url"
        value={values.url}
        maxLength={2048}
        autocomplete="off"
      />
      <FormatField value={values.format} />
      <EventField value={values.event} similar={errors.event} error={fieldError('event')} />
      {errors.event && <Checkbox name="new_event">{text.newEvent}</Checkbox>}
      <Field
        label={`${text.language} (${words.optional})`}
        help={text.languageHelp}
        error={fieldError('language')}
        name="language"
        value={values.language}
        maxLength={100}
        autocomplete="off"
      />
      <Checkbox name="draft" isChecked={values.draft === '1'}>
        {text.draft}
      </Checkbox>
      <details open={hasMore || errors.fields?.recorded !== undefined}>
        <summary>{text.moreOptions}</summary>
        <Field
          label={text.recorded}
          help={text.recordedHelp}
          error={fieldError('recorded')}
          name="recorded"
          type="date"
          value={values.recorded}
        />
        <Field
          label={text.source}
          help={text.sourceHelp}
          error={fieldError('source')}
          name="source"
          value={values.source}
          maxLength={100}
          autocomplete="off"
        />
        <Checkbox name="keep_titles" isChecked={values.keep_titles === '1'}>
          {text.keepTitles}
        </Checkbox>
      </details>
      <button type="submit">{text.planButton}</button>
    </Form>
  )
}

interface ImportFileProps {
  readonly maxBytes: number
  readonly error: ImportFormErrors['file']
}

function ImportFile({ maxBytes, error }: ImportFileProps) {
  const { words, locale } = useDesk()
  const text = words.imports
  const megabytes = (maxBytes / 1e6).toLocaleString(locale)
  const tooLarge = text.errors.tooLarge(megabytes)
  return (
    <FileField
      label={text.file}
      help={text.fileHelp(megabytes)}
      error={error && fileError(error, tooLarge, text.errors)}
      maxBytes={maxBytes}
      tooLarge={tooLarge}
    />
  )
}

function fileError(
  error: NonNullable<ImportFormErrors['file']>,
  tooLarge: string,
  texts: Readonly<Record<'missing' | 'both' | 'empty' | 'format' | 'damaged', string>>,
): string {
  if (typeof error === 'object') return error.text
  return error === 'too-large' ? tooLarge : texts[error]
}

/** A choice of the format of a file. */
export function FormatField({ value }: { value: string | undefined }) {
  const { words } = useDesk()
  const text = words.imports
  return (
    <div class="field">
      <label for="field-format">{text.format}</label>
      <select id="field-format" name="format">
        <option value="">{text.formatDetected}</option>
        {importFormats.map((format) => (
          <option key={format} value={format} selected={format === value}>
            {text.formats[format]}
          </option>
        ))}
      </select>
    </div>
  )
}

interface EventFieldProps {
  readonly value: string | undefined
  readonly similar: readonly string[] | undefined
  readonly error: string | undefined
}

function EventField({ value, similar, error }: EventFieldProps) {
  const { words } = useDesk()
  const text = words.imports
  return (
    <Field
      label={`${text.event} (${words.optional})`}
      help={text.eventHelp}
      error={similar ? text.errors.event(value ?? '', similar.join('; ')) : error}
      name="event"
      value={value}
      maxLength={255}
      autocomplete="off"
    />
  )
}

interface CheckboxProps {
  readonly name: string
  readonly isChecked?: boolean
  readonly children: ComponentChildren
}

/** A checkbox with its label. */
export function Checkbox({ name, isChecked = false, children }: CheckboxProps) {
  return (
    <div class="field">
      <label class="choice">
        <input type="checkbox" name={name} value="1" checked={isChecked} />
        <span>{children}</span>
      </label>
    </div>
  )
}
