import { Problem, states, type Video } from '@talkshelf/contract'
import {
  deskPages,
  deskPaths,
  type MergeChoice,
  type MergeTalksData,
  type TalkField,
  talkFields,
  toText,
} from '@talkshelf/web'
import { actorOf } from '../auth/auth.ts'
import { mergeRecords, mergeTalks } from '../merges/merges.ts'
import { talkIdIn } from '../pages/pages.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type FormRequest, type PageResponse, parseId } from '../platform/http/pages.ts'
import { isRule } from '../quality/quality.ts'
import {
  assertMayChange,
  listRevisions,
  readCurrentVideo,
  restoreRevision,
} from '../videos/videos.ts'
import { type Desk, type DeskRequest, idOf, revisionIn, writeContextOf } from './mount.ts'

// Merges two records of the same talk, and undoes a merge. The record in the path is kept, the one
// in `with` is merged into it.

const access = { role: 'editor', forEventEditors: true } as const

interface Version {
  readonly video: Video
  readonly revision: number
}

/** Mounts the page that compares two talks, and the forms that merge them and undo a merge. */
export function mergeTalksPages(
  desk: Desk,
  pool: Pool,
  forget: (ids: readonly number[]) => void,
): void {
  const page = deskPaths.mergeTalks(':id')

  desk.page(page, access, async (request) => {
    const kept = await readCurrentVideo(pool, idOf(request))
    const { id, title } = kept.video
    const typed = request.query.with?.slice(0, 2000)
    const other = typed === undefined ? undefined : talkIdIn(typed)
    if (other === undefined || other === id)
      return desk.render(request, [deskPages.otherTalk, { id, title, wrong: typed }])
    for (const talk of [id, other]) await assertMayChange(pool, actorOf(request.session), talk)
    const merged = await readCurrentVideo(pool, other)
    const data = comparison(kept, merged, {}, request.query.rule)
    return desk.render(request, [deskPages.mergeTalks, data])
  })

  desk.form(page, { ...access, page }, async (request) => {
    const { form } = request
    const id = idOf(request)
    const other = parseId(form.get('with') ?? '')
    if (other === undefined) throw new Problem('bad-request', 'The form has no other talk')
    const [kept, merged] = [await readCurrentVideo(pool, id), await readCurrentVideo(pool, other)]
    const choices = choicesIn(form)
    const rule = ruleIn(form.get('rule'))
    const show = (hasChanged: boolean) => {
      const data = { ...comparison(kept, merged, choices, rule), hasChanged }
      return desk.render(request, [deskPages.mergeTalks, data], hasChanged ? 409 : 200)
    }
    const revision = revisionIn(form, 'with_revision')
    const intoRevision = revisionIn(form)
    // The choices are about the values that the editor saw.
    if (revision !== merged.revision || intoRevision !== kept.revision) return show(true)
    if (form.get('preview') !== null) return show(false)
    const fields = chosenFields(kept.video, merged.video, choices)
    const target = { into: id, revision, intoRevision, fields }
    const isMerged = await mergeUnchanged(() =>
      mergeTalks(pool, other, target, writeContextOf(request)),
    )
    forget([id, other])
    if (!isMerged) return desk.redirect(request, `${deskPaths.mergeTalks(id)}?with=${other}`)
    const to = rule === undefined ? deskPaths.talk(id) : deskPaths.qualityRule(rule)
    return desk.redirect(request, `${to}?done=talks-merged`)
  })

  desk.form(deskPaths.unmerge(':id'), { ...access, page: deskPaths.talkHistory(':id') }, undo)

  /** Restores the version before the last merge. */
  async function undo(request: DeskRequest<FormRequest>): Promise<PageResponse> {
    const id = idOf(request)
    const { results } = await listRevisions(pool, id, 1)
    const merge = results.find(({ kind }) => kind === 'merged')
    if (!merge) throw new Problem('not-found', 'This talk was not merged lately')
    try {
      await restoreRevision(pool, id, merge.revision - 1, writeContextOf(request))
    } finally {
      forget([id])
    }
    return desk.redirect(request, `${deskPaths.talk(id)}?done=talks-unmerged`)
  }
}

/** Runs a merge. Returns false if one of the records changed concurrently. */
async function mergeUnchanged(merge: () => Promise<unknown>): Promise<boolean> {
  try {
    await merge()
    return true
  } catch (error) {
    if (error instanceof Problem && error.problem === 'stale-revision') return false
    throw error
  }
}

type Choices = Readonly<Partial<Record<TalkField, MergeChoice>>>

/** Builds the comparison of two talks. Fields without a choice get the default of a merge. */
function comparison(
  { video: kept, revision }: Version,
  { video: merged, revision: mergedRevision }: Version,
  choices: Choices,
  rule: string | undefined,
): MergeTalksData {
  const united = mergeRecords(merged, kept, {})
  const differing = differingFields(kept, merged)
  const chosen = mergeRecords(merged, kept, chosenFields(kept, merged, choices))
  return {
    kept: { ...pickTalk(kept), revision },
    merged: { ...pickTalk(merged), revision: mergedRevision },
    fields: differing.map((field) => {
      const text = (video: Video) => toText(field, video[field])
      const isList = field === 'speakers' || field === 'tags'
      return {
        field,
        kept: text(kept),
        merged: text(merged),
        both: isList ? text(united) : undefined,
        choice: choices[field] ?? defaultChoice(field, kept, merged, united),
      }
    }),
    same: talkFields.length - differing.length,
    result: talkFields
      .filter((field) => chosen[field] !== false)
      .map((field) => [field, toText(field, chosen[field])] as const)
      .filter(([, text]) => text !== ''),
    rule: ruleIn(rule),
    hasChanged: false,
  }
}

const pickTalk = ({ id, title, state }: Video) => ({ id, title, isLive: state === states.live })

function differingFields(kept: Video, merged: Video): TalkField[] {
  return talkFields.filter((field) => toText(field, kept[field]) !== toText(field, merged[field]))
}

function defaultChoice(field: TalkField, kept: Video, merged: Video, united: Video): MergeChoice {
  const text = toText(field, united[field])
  if (text === toText(field, kept[field])) return 'kept'
  return text === toText(field, merged[field]) ? 'merged' : 'both'
}

/** Returns the values of the fields that the editor chose. */
function chosenFields(kept: Video, merged: Video, choices: Choices): Partial<Video> {
  const united = mergeRecords(merged, kept, {})
  const sides = { kept, merged, both: united }
  return Object.fromEntries(
    differingFields(kept, merged).flatMap((field) => {
      const choice = choices[field]
      return choice === undefined ? [] : [[field, sides[choice][field]]]
    }),
  )
}

function choicesIn(form: URLSearchParams): Choices {
  return Object.fromEntries(
    talkFields.flatMap((field) => {
      const choice = form.get(`choice_${field}`)
      return ['kept', 'merged', 'both'].includes(choice ?? '') ? [[field, choice]] : []
    }),
  )
}

/** Returns the name of a quality rule, if it can be one. */
function ruleIn(text: string | null | undefined): string | undefined {
  return text && isRule(text) ? text : undefined
}
