import { editFormat, type Import, importVerdicts, warningCodes } from '@talkshelf/contract'
import { deskPaths } from '../paths.ts'
import { Form } from './form.tsx'
import { importName } from './import-name.ts'
import { ImportTalks, type ImportTalksData } from './import-talks.tsx'
import { Started } from './imports.tsx'
import { DeskLayout } from './layout.tsx'
import { englishOn } from './server-text.ts'
import { DeskContext, useDesk } from './view.ts'

export interface ImportPageData extends ImportTalksData {
  /** The fields in conflict that can still be decided, and the talks without a decision. */
  readonly conflicts: {
    readonly undecided: number
    /** Undecided talks that resemble a record. */
    readonly questions: number
    readonly fields: readonly { readonly field: string; readonly count: number }[]
  }
  /** The most frequent changes of a bulk edit, as text. Empty for other imports. */
  readonly values: readonly {
    readonly field: string
    readonly old: string
    readonly new: string
    readonly count: number
  }[]
  /** Whether the person may not apply the import. */
  readonly needsAdmin: boolean
  /** Why the last action was refused. */
  readonly error?: 'needsAdmin' | 'wrongState' | undefined
}

const runningStates: readonly Import['state'][] = ['reading', 'applying', 'undoing']

/** An import: its state, its plan by verdict, and what can be done with it. */
export function ImportPage(data: ImportPageData) {
  const view = useDesk()
  const { bulk, imports } = view.words
  if (data.job.format !== editFormat) return <ImportContent {...data} />
  // A bulk edit has no file, so some texts are different.
  const editTexts = {
    ...imports,
    ...bulk.page,
    stateHelp: { ...imports.stateHelp, ...bulk.stateHelp },
    verdictHelp: { ...imports.verdictHelp, ...bulk.verdictHelp },
  }
  return (
    <DeskContext.Provider value={{ ...view, words: { ...view.words, imports: editTexts } }}>
      <ImportContent {...data} />
    </DeskContext.Provider>
  )
}

function ImportContent(data: ImportPageData) {
  const { words } = useDesk()
  const text = words.imports
  const { job, error } = data
  const isRunning = runningStates.includes(job.state)
  const path = deskPaths.importPage(job.id)
  return (
    <DeskLayout title={text.import(job.id)} refresh={isRunning ? path : undefined}>
      {error !== undefined && (
        <p class="error" role="alert">
          {text[error]}
        </p>
      )}
      <Summary job={job} isRunning={isRunning} />
      <Actions {...data} />
      {job.state !== 'reading' && (
        <>
          <ValueCounts {...data} />
          <Additions job={job} />
          <Warnings job={job} />
          <ImportTalks {...data}>
            <DecideAll {...data} />
          </ImportTalks>
        </>
      )}
    </DeskLayout>
  )
}

function Summary({ job, isRunning }: { job: Import; isRunning: boolean }) {
  const { words, href, locale } = useDesk()
  const lang = englishOn(locale)
  const text = words.imports
  const isAllRefused = job.state === 'planned' && isEveryTalkRefused(job)
  return (
    <section data-progress={isRunning ? href(deskPaths.importPage(job.id)) : undefined}>
      <p>
        <bdi class="long">{importName(job, words)}</bdi>{' '}
        {job.format !== editFormat && <span class="mark">{job.format || text.unknownFormat}</span>}{' '}
        <span class={job.state === 'failed' ? 'mark warn' : 'mark'}>{text.states[job.state]}</span>
      </p>
      <p class="help">
        {text.by} <bdi>{job.by}</bdi>, <Started at={job.created} />
        {job.format !== editFormat && (
          <>
            {' '}
            · {text.source}: <bdi class="long">{job.source}</bdi>
          </>
        )}
      </p>
      {job.followed_source !== null && (
        <p class="help">
          <a href={href(deskPaths.followedSource(job.followed_source))}>
            {words.followedSources.fromSource}
          </a>
        </p>
      )}
      {isRunning && <Progress job={job} />}
      {job.problem !== null && (
        <p class="error lines" lang={lang}>
          {job.problem}
        </p>
      )}
      <p>{isAllRefused ? text.allRefused : text.stateHelp[job.state]}</p>
      <Counts label={text.results} counts={job.outcome} />
      <Counts label={text.undoResult} counts={job.undone} />
    </section>
  )
}

function Progress({ job }: { job: Import }) {
  const { words } = useDesk()
  const text = words.imports
  const total = countTalks(job)
  if (job.state === 'reading') return <p role="status">{text.readSoFar(total)}</p>
  // The rows of an import are talks, events, people and tags.
  const done = job.rows === 0 ? 0 : Math.floor((total * job.done) / job.rows)
  return (
    <p>
      <progress max={Math.max(total, 1)} value={done} aria-label={text.states[job.state]} />{' '}
      {text.progress(done, total)}
    </p>
  )
}

function Counts({ label, counts }: { label: string; counts: Readonly<Record<string, number>> }) {
  const { words } = useDesk()
  const parts = Object.entries(counts).filter(([, count]) => count > 0)
  if (parts.length === 0) return null
  const { outcomes } = words.imports
  return (
    <p>
      <b>{label}:</b> {parts.map(([name, count]) => `${count} ${outcomes[name]}`).join(', ')}
    </p>
  )
}

/** A button for each action that the state of the import allows. */
function Actions({ job, needsAdmin }: ImportPageData) {
  const { words } = useDesk()
  const text = words.imports
  const { id, state } = job
  const canApply = !needsAdmin && !isEveryTalkRefused(job)
  const isPartlyUndone = (job.undone.touched ?? 0) > 0
  const actions: Readonly<Record<Import['state'], readonly (Action | false)[]>> = {
    reading: [],
    failed: [[deskPaths.importDiscard(id), text.discard, 'quiet']],
    planned: [
      canApply && [deskPaths.importApply(id), text.apply],
      [deskPaths.importDiscard(id), text.discard, 'quiet'],
    ],
    applying: [[deskPaths.importStop(id), text.stop]],
    stopped: [
      canApply && [deskPaths.importApply(id), text.continue],
      [deskPaths.importUndo(id), text.undo, 'quiet'],
    ],
    applied: [[deskPaths.importUndo(id), text.undo, 'quiet']],
    undoing: [],
    undone: [
      !needsAdmin && [deskPaths.importRedo(id), text.redo],
      isPartlyUndone && [deskPaths.importUndo(id), text.undoAgain, 'quiet'],
    ],
  }
  return (
    <>
      {needsAdmin && state === 'planned' && <p class="notice">{text.needsAdmin}</p>}
      <div class="actions">
        {actions[state].map(
          (action) =>
            action && (
              <Form key={action[0]} action={action[0]}>
                <button type="submit" class={action[2]}>
                  {action[1]}
                </button>
              </Form>
            ),
        )}
      </div>
    </>
  )
}

type Action = readonly [path: string, label: string, style?: 'quiet']

/** The number of talks for each change of a value: "412 talks: CC BY 3.0 → CC BY 4.0". */
function ValueCounts({ job, values }: ImportPageData) {
  const { words } = useDesk()
  const { bulk, imports: text } = words
  if (values.length === 0) return null
  const counted = values.reduce((sum, { count }) => sum + count, 0)
  const total = (job.planned.changed ?? 0) + (job.planned.conflict ?? 0)
  return (
    <section>
      <h2>{bulk.byValue}</h2>
      <ul>
        {values.map(({ field, count, ...value }) => (
          <li key={`${field} ${value.old} ${value.new}`}>
            {bulk.valueCount(count)}: {text.fields[field] ?? field}:{' '}
            <bdi class="long">{value.old || text.emptyValue}</bdi> →{' '}
            <bdi class="long">{value.new || text.emptyValue}</bdi>
          </li>
        ))}
        {counted < total && <li>{bulk.otherValues(total - counted)}</li>}
      </ul>
    </section>
  )
}

/** The names that the import creates. */
function Additions({ job }: { job: Import }) {
  const { words } = useDesk()
  const text = words.imports
  const kinds = (['categories', 'speakers', 'tags'] as const).filter(
    (kind) => job.creates[kind].count > 0,
  )
  if (kinds.length === 0) return null
  return (
    <details>
      <summary>
        {text.createsTitle}:{' '}
        {kinds.map((kind) => `${text.creates[kind]} ${job.creates[kind].count}`).join(', ')}
      </summary>
      {kinds.map((kind) => {
        const { count, names } = job.creates[kind]
        return (
          <section key={kind}>
            <h2>{text.creates[kind]}</h2>
            <ul class="names">
              {names.map((name) => (
                <li key={name}>
                  <bdi>{name}</bdi>
                </li>
              ))}
              {count > names.length && <li>{text.andMore(count - names.length)}</li>}
            </ul>
          </section>
        )
      })}
    </details>
  )
}

function Warnings({ job }: { job: Import }) {
  const { words } = useDesk()
  const text = words.imports
  const codes = warningCodes.filter((code) => (job.warnings[code] ?? 0) > 0)
  return (
    <>
      {codes.length > 0 && (
        <section>
          <h2>{text.warningsView}</h2>
          <ul>
            {codes.map((code) => (
              <li key={code}>
                {text.talkCount(job.warnings[code] ?? 0)} {text.warnings[code]}
              </li>
            ))}
          </ul>
        </section>
      )}
      {job.ignored_cells > 0 && <p class="notice">{text.ignoredCells(job.ignored_cells)}</p>}
    </>
  )
}

/** Forms that decide all conflicts: of one field or of all, and which talks are the same. */
function DecideAll({ job, conflicts, show }: ImportPageData) {
  const { words } = useDesk()
  const text = words.imports
  const { undecided, questions, fields } = conflicts
  if (show !== 'conflict' || !isDecidable(job)) return null
  if (undecided === 0 && fields.length === 0) return null
  return (
    <>
      {undecided > 0 && <p>{text.undecided(undecided)}</p>}
      <p class="help" data-keys hidden>
        {text.keys}
      </p>
      {questions > 0 && (
        <Form action={deskPaths.importAcceptMatches(job.id)}>
          <button type="submit" class="quiet">
            {text.acceptMatches(questions)}
          </button>
        </Form>
      )}
      {fields.length > 0 && <DecideFields id={job.id} fields={fields} />}
    </>
  )
}

interface DecideFieldsProps {
  readonly id: number
  readonly fields: ImportPageData['conflicts']['fields']
}

function DecideFields({ id, fields }: DecideFieldsProps) {
  const { words } = useDesk()
  const text = words.imports
  return (
    <details>
      <summary>{text.decideAll}</summary>
      <Form action={deskPaths.importDecideAll(id)}>
        <div class="field">
          <label for="field-field">{text.decideField}</label>
          <select id="field-field" name="field">
            <option value="">{text.allFields}</option>
            {fields.map(({ field, count }) => (
              <option key={field} value={field}>
                {`${text.fields[field] ?? field} (${count})`}
              </option>
            ))}
          </select>
        </div>
        <div class="actions">
          <button type="submit" class="quiet" name="take" value="mine">
            {text.keepAllOurs}
          </button>
          <button type="submit" class="quiet" name="take" value="theirs">
            {text.takeAllTheirs}
          </button>
        </div>
      </Form>
    </details>
  )
}

const isDecidable = ({ state }: Import) => state === 'planned' || state === 'stopped'

function isEveryTalkRefused(job: Import): boolean {
  const total = countTalks(job)
  return total > 0 && job.planned.refused === total
}

function countTalks({ planned }: Import): number {
  return importVerdicts.reduce((total, verdict) => total + (planned[verdict] ?? 0), 0)
}
