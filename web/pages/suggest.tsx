import type { SuggestedField, SuggestionKind } from '@talkshelf/contract'
import type { FollowedData, SuggestData } from '../data.ts'
import { Field, TextArea } from '../desk/form.tsx'
import { englishOn } from '../desk/server-text.ts'
import { excerpt } from '../desk/word-diff.ts'
import { ContactLink } from '../parts/contact.tsx'
import { Difference, DiffParts, formatValue } from '../parts/difference.tsx'
import { PageLayout } from '../parts/page.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

// The forms with which readers suggest corrections, and the page that shows the outcome.

const kinds = ['correction', 'dead-link', 'duplicate', 'removal', 'missing'] as const
/** Time for all word diffs of a page. */
const diffMs = 100

/** The form of a suggestion. */
export function Suggest(data: SuggestData) {
  const { words, href, locale } = useView()
  const text = words.suggest
  const { kind, talk, token, error, errors } = data
  const title = text.titles[kind](talk?.title ?? '')
  const action = talk ? paths.suggest(talk) : paths.suggestMissing
  return (
    <PageLayout name="suggest" title={title} isPrivate>
      <div class="suggest">
        <h1 dir="auto">{title}</h1>
        <Kinds kind={kind} talk={talk} />
        <p>{token === undefined ? text.full : text.help[kind]}</p>
        {error !== undefined && (
          <div class="notice" role="alert">
            <p>
              <b>{text.errors.title}</b> {error === '' ? '' : text.errors[error]}
            </p>
            {Object.values(errors).map((detail) => (
              <p key={detail} lang={englishOn(locale)}>
                {detail}
              </p>
            ))}
          </div>
        )}
        {token !== undefined && (
          <form
            method="post"
            action={href(action)}
            data-suggest-form
            data-proof-of-work={data.proofOfWorkBits}
            data-wait={data.waitMs}
          >
            <input type="hidden" name="kind" value={kind} />
            <input type="hidden" name="form" value={token} />
            <input type="hidden" name="proof_of_work" value="" />
            <KindFields {...data} />
            <TextArea
              label={label(text.comment[kind], kind !== 'removal', text.optional)}
              name="comment"
              value={data.comment}
              help={text.commentHelp}
            />
            <Field
              label={label(text.name, true, text.optional)}
              name="name"
              value={data.name}
              help={text.nameHelp}
              maxLength={100}
              autocomplete="off"
            />
            {(kind === 'correction' || kind === 'dead-link') && (
              <div class="field">
                <label class="choice">
                  <input type="checkbox" name="show_name" value="1" checked={data.showName} />
                  <span>{text.showName}</span>
                </label>
              </div>
            )}
            <div class="extra" aria-hidden="true">
              <label>
                {text.honeypot}
                <input name={data.honeypotField} tabindex={-1} autocomplete="off" />
              </label>
            </div>
            <button type="submit">{text.send}</button>
            <p class="help">{text.privacy}</p>
          </form>
        )}
        <ContactLink />
      </div>
    </PageLayout>
  )
}

const label = (text: string, isOptional: boolean, optional: string) =>
  isOptional ? `${text} (${optional})` : text

/** Links to the other forms. */
function Kinds({ kind, talk }: Pick<SuggestData, 'kind' | 'talk'>) {
  const { words, href } = useView()
  const text = words.suggest
  const pathOf = (other: SuggestionKind) => {
    if (!talk || other === 'missing') return paths.suggestMissing
    return paths.suggest(talk) + (other === 'correction' ? '' : `?kind=${other}`)
  }
  if (!talk) return null
  return (
    <nav aria-label={text.kindsLabel}>
      <ul class="plain chips">
        {kinds.map((other) => (
          <li key={other}>
            <a
              href={href(pathOf(other))}
              rel="nofollow"
              aria-current={other === kind ? 'page' : undefined}
            >
              {text.kinds[other]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

const lineFields: readonly string[] = ['title', 'category', 'language', 'duration', 'source_url']
const formFields: Readonly<Record<SuggestionKind, readonly SuggestedField[]>> = {
  correction: [
    'title',
    'speakers',
    'category',
    'recorded',
    'duration',
    'language',
    'tags',
    'summary',
    'description',
    'source_url',
    'copyright_text',
    'quality_notes',
  ],
  'dead-link': ['source_url'],
  duplicate: [],
  removal: [],
  missing: ['title', 'speakers', 'category', 'recorded', 'language', 'source_url'],
}

/** The fields of a suggestion of a kind. */
export function KindFields({
  kind,
  values,
  errors,
  duplicateOf,
}: Pick<SuggestData, 'kind' | 'values' | 'errors' | 'duplicateOf'>) {
  const { words } = useView()
  const text = words.suggest
  if (kind === 'duplicate')
    return (
      <Field
        label={text.duplicateOf}
        name="duplicate_of"
        value={duplicateOf}
        error={errors.duplicate_of === undefined ? undefined : text.errors.duplicateOf}
        maxLength={2000}
      />
    )
  return (
    <>
      {formFields[kind].map((name) => {
        const help = (text.fieldHelp as Partial<Record<string, string>>)[name]
        const field = {
          label: kind === 'dead-link' ? text.newAddress : text.fields[name],
          name,
          value: values[name] ?? '',
          error: errors[name] === undefined ? undefined : text.errors.field,
          ...(help !== undefined && { help }),
        }
        if (name === 'recorded') return <Field key={name} {...field} type="date" />
        return lineFields.includes(name) ? (
          <Field key={name} {...field} autocomplete="off" />
        ) : (
          <TextArea key={name} {...field} rows={name === 'description' ? 6 : 2} />
        )
      })}
    </>
  )
}

/** Tells the reader that the same suggestion is open. */
export function SameSuggestion({ talk }: Pick<SuggestData, 'talk'>) {
  const { words, href } = useView()
  return (
    <PageLayout name="suggest" title={words.suggest.sentTitle} isPrivate>
      <div class="suggest">
        <h1>{words.suggest.sentTitle}</h1>
        <p role="status">{words.suggest.same}</p>
        <p>
          <a href={href(talk ? paths.talk(talk) : paths.home)} dir="auto">
            {talk?.title ?? words.backHome}
          </a>
        </p>
      </div>
    </PageLayout>
  )
}

/** What became of a suggestion, for its author. */
export function FollowedSuggestion(data: FollowedData) {
  const view = useView()
  const { words, href } = view
  const text = words.suggest
  const { id, state, reason, talk, reply, secret } = data
  const mayReply = reply === null && (state === 'open' || state === 'declined')
  return (
    <PageLayout name="suggest" title={text.followTitle(id)} isPrivate>
      <div class="suggest">
        <h1>{data.isNew ? text.sentTitle : text.followTitle(id)}</h1>
        {data.isNew && (
          <div class="notice" role="status">
            <p>{text.sent}</p>
            <p>
              <a id="own-link" href={href(paths.suggestion(id, secret))} rel="nofollow">
                {view.origin + paths.suggestion(id, secret)}
              </a>
            </p>
            <button type="button" class="quiet with-scripts" data-copy-text="own-link">
              {text.copyLink}
            </button>
          </div>
        )}
        <p>
          <b>{text.states[state]}</b> {text.sentOn(view.day(data.created.slice(0, 10)))}.
        </p>
        {reason !== null && (
          <p dir="auto">
            {text.reasonLabel}: {text.reasons[reason] ?? reason}
          </p>
        )}
        <dl>
          <dt>{text.kinds[data.kind]}</dt>
          <dd dir="auto">
            {talk ? (
              <a href={href(paths.talk(talk))}>{talk.title}</a>
            ) : (
              data.kind === 'missing' || words.noTalk[410]
            )}
          </dd>
          <Fields {...data} />
          {data.comment !== '' && <Quote label={text.yourComment} text={data.comment} />}
          {reply !== null && <Quote label={text.yourReply} text={reply} />}
          {data.name !== null && <Quote label={text.name} text={data.name} />}
        </dl>
        {data.name !== null && (
          <form method="post" action={href(paths.removeSuggestionName(id, secret))}>
            <button type="submit" class="quiet">
              {text.removeName}
            </button>
          </form>
        )}
        {mayReply && (
          <form method="post" action={href(paths.replyToSuggestion(id, secret))}>
            <TextArea
              label={text.replyLabel}
              name="reply"
              value={data.typedReply}
              help={text.replyHelp[state === 'declined' ? 'declined' : 'open']}
              error={data.replyError && text.replyErrors[data.replyError]}
            />
            <button type="submit" class="quiet">
              {text.replySend}
            </button>
          </form>
        )}
        {state === 'open' && (
          <form method="post" action={href(paths.withdrawSuggestion(id, secret))}>
            <p class="help">{text.withdrawHelp}</p>
            <button type="submit" class="quiet">
              {text.withdraw}
            </button>
          </form>
        )}
      </div>
    </PageLayout>
  )
}

function Quote({ label, text }: { label: string; text: string }) {
  return (
    <>
      <dt>{label}</dt>
      <dd class="diff" dir="auto">
        {text}
      </dd>
    </>
  )
}

/** The suggested fields: their difference to the talk, or their values if there is none. */
function Fields({ fields, state, kind }: FollowedData) {
  const { words } = useView()
  const text = words.suggest
  const untilMs = performance.now() + diffMs
  const isCompared = state === 'open' && kind !== 'missing'
  return (
    <>
      {fields.map(({ field, suggested, current, isAlreadyApplied, isTaken }) => (
        <div key={field}>
          <dt>{text.fields[field as SuggestedField]}</dt>
          <dd>
            {isCompared && !isAlreadyApplied && current !== undefined ? (
              <Difference
                {...{ field, before: current, after: suggested, untilMs, words: text.diff }}
              />
            ) : (
              <p class="diff" dir="auto">
                <DiffParts
                  parts={excerpt('same', formatValue(field, suggested, text.diff))}
                  words={text.diff}
                />
              </p>
            )}
            {isCompared && isAlreadyApplied && <p class="help">{text.alreadyApplied}</p>}
            {state === 'accepted' && <p class="help">{isTaken ? text.taken : text.notTaken}</p>}
          </dd>
        </div>
      ))}
    </>
  )
}
