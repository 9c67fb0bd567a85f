import { deskPaths } from '../paths.ts'
import { Field, Form } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import type { TalkField } from './talk-values.ts'
import { useDesk } from './view.ts'

/** Whose value of a field the kept record gets. */
export type MergeChoice = 'kept' | 'merged' | 'both'

export interface MergedTalk {
  readonly id: number
  readonly title: string
  readonly isLive: boolean
  readonly revision: number
}

export interface MergeTalksData {
  readonly kept: MergedTalk
  readonly merged: MergedTalk
  /** The fields that differ, as texts. */
  readonly fields: readonly {
    readonly field: TalkField
    readonly kept: string
    readonly merged: string
    /** The united list. */
    readonly both: string | undefined
    readonly choice: MergeChoice
  }[]
  /** How many fields are the same. */
  readonly same: number
  /** The values that the kept record gets, without empty ones. */
  readonly result: readonly (readonly [field: TalkField, text: string])[]
  /** The rule of the quality list from which the page was opened. */
  readonly rule: string | undefined
  /** Whether one of the talks changed while the editor compared them. */
  readonly hasChanged: boolean
}

/** Compares two records of the same talk, asks which values to keep, and merges them. */
export function MergeTalks({ kept, merged, fields, same, result, ...data }: MergeTalksData) {
  const { words, href } = useDesk()
  const texts = words.quality
  const { rule, hasChanged } = data
  const columns = [
    ['kept', texts.keep(kept.id), kept],
    ['merged', texts.merge(merged.id), merged],
  ] as const
  const swapped = `${deskPaths.mergeTalks(merged.id)}?${mergeQuery(kept.id, rule)}`
  return (
    <DeskLayout title={texts.mergeTitle(kept.title)}>
      {hasChanged && (
        <p class="notice" role="alert">
          {texts.changed}
        </p>
      )}
      <p>{texts.mergeHelp}</p>
      <ul class="rows">
        {columns.map(([column, label, talk]) => (
          <li key={column}>
            <div>
              <b>{label}</b>{' '}
              <span class={talk.isLive ? 'mark' : 'mark warn'}>
                {talk.isLive ? words.live : words.draft}
              </span>
              <p>
                <a href={href(deskPaths.talk(talk.id))} dir="auto">
                  {talk.title}
                </a>
              </p>
            </div>
          </li>
        ))}
      </ul>
      <p>
        <a href={href(swapped)}>{texts.swap}</a>
      </p>
      <Form action={deskPaths.mergeTalks(kept.id)} class="merge">
        <input type="hidden" name="with" value={merged.id} />
        <input type="hidden" name="revision" value={kept.revision} />
        <input type="hidden" name="with_revision" value={merged.revision} />
        {rule !== undefined && <input type="hidden" name="rule" value={rule} />}
        {fields.map(({ field, both, choice, ...values }) => (
          <fieldset key={field} class="group">
            <legend>{words.talkFields[field]}</legend>
            <div class="columns">
              {columns.map(([column, label]) => (
                <Choice key={column} {...{ field, value: column, choice, label }}>
                  {values[column]}
                </Choice>
              ))}
              {both !== undefined && (
                <Choice {...{ field, value: 'both', choice, label: texts.both }}>{both}</Choice>
              )}
            </div>
          </fieldset>
        ))}
        <p class="help">{texts.sameFields(same)}</p>
        <h2>{texts.result}</h2>
        <dl class="history">
          {result.map(([field, text]) => (
            <div key={field}>
              <dt>{words.talkFields[field]}</dt>
              <dd class="diff" dir="auto">
                {text.length > 500 ? `${text.slice(0, 500)}…` : text}
              </dd>
            </div>
          ))}
        </dl>
        <div class="actions">
          <button type="submit">{texts.mergeButton}</button>
          <button type="submit" name="preview" value="1" class="quiet">
            {texts.preview}
          </button>
          <a href={href(deskPaths.talk(kept.id))}>{words.backToEditor}</a>
        </div>
      </Form>
    </DeskLayout>
  )
}

interface ChoiceProps {
  readonly field: TalkField
  readonly value: MergeChoice
  readonly choice: MergeChoice
  readonly label: string
  readonly children: string
}

function Choice({ field, value, choice, label, children }: ChoiceProps) {
  const { words } = useDesk()
  return (
    <label class="choice">
      <input type="radio" name={`choice_${field}`} value={value} checked={value === choice} />
      <span>
        <b>{label}</b>
        <span class="value" dir="auto">
          {children || words.emptyValue}
        </span>
      </span>
    </label>
  )
}

/** Returns the query of the page that compares a talk with another one. */
export function mergeQuery(other: number, rule: string | undefined): string {
  return new URLSearchParams({ with: String(other), ...(rule && { rule }) }).toString()
}

export interface OtherTalkData {
  readonly id: number
  readonly title: string
  /** What was typed and is not the number or URL of another talk. */
  readonly wrong: string | undefined
}

/** Asks for the record that is the same talk. */
export function OtherTalk({ id, title, wrong }: OtherTalkData) {
  const { words, href } = useDesk()
  const texts = words.quality
  return (
    <DeskLayout title={texts.mergeTitle(title)}>
      <form action={href(deskPaths.mergeTalks(id))}>
        <Field
          label={texts.otherTalk}
          name="with"
          value={wrong}
          help={texts.otherTalkHelp}
          error={wrong === undefined ? undefined : texts.otherTalkMissing}
          maxLength={2000}
          autocomplete="off"
          required
        />
        <div class="actions">
          <button type="submit">{texts.show}</button>
          <a href={href(deskPaths.talk(id))}>{words.backToEditor}</a>
        </div>
      </form>
    </DeskLayout>
  )
}
