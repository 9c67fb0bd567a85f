import { Field, TextArea } from '../desk/form.tsx'
import { PageLayout } from '../parts/page.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'
import { KindFields } from './suggest.tsx'

// The pages of a speaker who has a link: their talks and their profile.

export interface SpeakerLinkData {
  readonly secret: string
  readonly name: string
  readonly talks: readonly {
    readonly id: number
    /** The revision that is shown, and confirmed. */
    readonly revision: number
    readonly title: string
    readonly details: string
    /** The day on which the speaker confirmed this version. */
    readonly confirmed: string | undefined
  }[]
  /** What the profile says, line by line. */
  readonly profile: readonly string[]
  /** What was just done, or why not. */
  readonly done: string | undefined
}

/** The talks and the profile of a speaker, to confirm or correct. */
export function SpeakerLinkPage({ secret, name, talks, profile, done }: SpeakerLinkData) {
  const { words, href } = useView()
  const text = words.speakerLink
  const path = paths.speakerLink(secret)
  return (
    <PageLayout name="suggest" title={text.title(name)} isPrivate>
      <div class="suggest">
        <h1 dir="auto">{text.title(name)}</h1>
        {done !== undefined && (
          <p class="notice" role="status">
            {text.done[done]}
          </p>
        )}
        <p>{text.help}</p>
        <h2>{text.talks}</h2>
        {talks.length === 0 ? (
          <p>{text.noTalks}</p>
        ) : (
          <form method="post" action={href(path)}>
            <input type="hidden" name="action" value="confirm" />
            {talks.map((talk) => (
              <div key={talk.id} class="field">
                <label class="choice">
                  <input
                    type="checkbox"
                    name="video"
                    value={`${talk.id}.${talk.revision}`}
                    checked={talk.confirmed === undefined}
                  />
                  <span>
                    <b dir="auto">{talk.title}</b> <span dir="auto">{talk.details}</span>
                  </span>
                </label>
                <p class="help">
                  {talk.confirmed !== undefined && `${text.confirmed(talk.confirmed)} `}
                  <a
                    href={href(paths.speakerLinkTalk(secret, talk.id))}
                    rel="nofollow"
                    aria-label={text.correct(talk.title)}
                  >
                    {text.correctLink}
                  </a>
                </p>
              </div>
            ))}
            <button type="submit">{text.confirm}</button>
          </form>
        )}
        <h2>{text.profile}</h2>
        {profile.length === 0 ? (
          <p>{text.noProfile}</p>
        ) : (
          profile.map((line) => (
            <p key={line} dir="auto">
              {line}
            </p>
          ))
        )}
        <RequestForm path={path} kind="profile" label={text.profileWords} />
        <h2>{text.name}</h2>
        <p>{text.nameHelp}</p>
        <RequestForm path={path} kind="name" label={text.nameWords} />
        <h2>{text.removal}</h2>
        <p>{text.removalHelp}</p>
        <RequestForm path={path} kind="removal" label={text.removalWords} />
      </div>
    </PageLayout>
  )
}

function RequestForm({ path, kind, label }: { path: string; kind: string; label: string }) {
  const { words, href } = useView()
  return (
    <form method="post" action={href(path)}>
      <input type="hidden" name="action" value={kind} />
      <TextArea label={label} name={`${kind}_comment`} value="" />
      <button type="submit">{words.speakerLink.send}</button>
    </form>
  )
}

export interface SpeakerLinkTalkData {
  readonly secret: string
  readonly id: number
  readonly title: string
  readonly revision: number
  readonly values: Parameters<typeof KindFields>[0]['values']
  readonly comment: string
  readonly error: string | undefined
  readonly errors: Readonly<Partial<Record<string, string>>>
}

/** The form with which a speaker corrects a talk, or asks for its removal. */
export function SpeakerLinkTalk(data: SpeakerLinkTalkData) {
  const { secret, id, title, revision, values, errors, error } = data
  const { words, href } = useView()
  const text = words.speakerLink
  const path = paths.speakerLinkTalk(secret, id)
  return (
    <PageLayout name="suggest" title={text.correctTitle(title)} isPrivate>
      <div class="suggest">
        <h1 dir="auto">{text.correctTitle(title)}</h1>
        <p>
          <a href={href(paths.speakerLink(secret))} rel="nofollow">
            {text.back}
          </a>
        </p>
        {error !== undefined && (
          <p class="notice" role="alert">
            {text.done[error] ?? error}
          </p>
        )}
        <form method="post" action={href(path)}>
          <input type="hidden" name="kind" value="correction" />
          <input type="hidden" name="revision" value={revision} />
          <KindFields kind="correction" values={values} errors={errors} duplicateOf="" />
          <TextArea label={text.comment} name="comment" value={data.comment} />
          <button type="submit">{text.send}</button>
        </form>
        <h2>{text.removeTalk}</h2>
        <form method="post" action={href(path)}>
          <input type="hidden" name="kind" value="removal" />
          <Field label={text.removeWhy} name="why" maxLength={2000} autocomplete="off" required />
          <button type="submit">{text.send}</button>
        </form>
      </div>
    </PageLayout>
  )
}
