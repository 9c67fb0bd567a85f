import type { QualityFinding, QualityRule } from '@talkshelf/contract'
import { deskPaths } from '../paths.ts'
import { formatTimecode } from '../timecode.ts'
import { Form } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { ListKeys, listItem } from './list-keys.tsx'
import { mergeQuery } from './merge-talks.tsx'
import { useDesk } from './view.ts'

type Rule = Omit<QualityRule, 'records'>

export interface QualityData {
  readonly rules: readonly Rule[]
}

/** The rules with their number of findings. */
export function Quality({ rules }: QualityData) {
  const { words, href, number } = useDesk()
  const texts = words.quality
  return (
    <DeskLayout title={texts.title}>
      <p class="help">{texts.help}</p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">{texts.rule}</th>
              <th scope="col">{texts.findings}</th>
            </tr>
          </thead>
          <tbody>
            {rules.map(({ rule, title, count }) => (
              <tr key={rule}>
                <td>
                  <a href={href(deskPaths.qualityRule(rule))}>
                    {texts.rules[rule]?.title ?? title}
                  </a>
                </td>
                <td>{number(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </DeskLayout>
  )
}

/** A finding, with the fix that is certain for it. */
export interface FixableFinding extends QualityFinding {
  readonly fix?: {
    /** The record and its version, for the form. */
    readonly target: string
    readonly value: string | number
  }
}

export interface FindingsData {
  readonly rule: Rule
  readonly findings: readonly FixableFinding[]
  /** The cursor of this page, and of the pages before and after it. */
  readonly cursor: string
  readonly previous: string | undefined
  readonly next: string | undefined
}

/** The findings of a rule, with a button for each fix that is certain. */
export function Findings({ rule, findings, cursor, previous, next }: FindingsData) {
  const { words, href, number } = useDesk()
  const texts = words.quality
  const { title, advice } = texts.rules[rule.rule] ?? rule
  const targets = findings.flatMap(({ fix }) => fix?.target ?? [])
  const pageAt = (at: string) =>
    href(`${deskPaths.qualityRule(rule.rule)}?${new URLSearchParams({ cursor: at })}`)
  return (
    <DeskLayout title={title}>
      <p class="help">{advice}</p>
      <p class="toolbar">
        <a href={href(deskPaths.quality)}>{texts.all}</a>
        <span>
          {texts.findings}: {number(rule.count)}
        </span>
      </p>
      {findings.length === 0 && <p>{texts.noFindings}</p>}
      {targets.length > 0 && (
        <FixForm rule={rule.rule} cursor={cursor} targets={targets}>
          {texts.fixAll(targets.length)}
        </FixForm>
      )}
      <ul class="rows">
        {findings.map((finding) => (
          <li key={finding.records[0]?.id ?? finding.value}>
            <Finding rule={rule.rule} cursor={cursor} finding={finding} />
          </li>
        ))}
      </ul>
      {findings.length > 0 && <ListKeys />}
      <p class="toolbar">
        {previous !== undefined && (
          <a href={pageAt(previous)} rel="prev">
            {words.previousPage}
          </a>
        )}
        {next !== undefined && (
          <a href={pageAt(next)} rel="next">
            {words.nextPage}
          </a>
        )}
      </p>
    </DeskLayout>
  )
}

/** Returns a query that identifies the page of a quality list, for the editor. */
export function findingsQuery(rule: string, cursor: string): string {
  return new URLSearchParams({ rule, ...(cursor && { cursor }) }).toString()
}

interface FindingProps {
  readonly rule: string
  readonly cursor: string
  readonly finding: FixableFinding
}

function Finding({ rule, cursor, finding }: FindingProps) {
  const { words, href } = useDesk()
  const texts = words.quality
  const { value, records, names, fix } = finding
  const [first] = records
  const list = encodeURIComponent(findingsQuery(rule, cursor))
  const shown = rule.startsWith('duration') ? formatTimecode(Number(value)) : value
  return (
    <>
      <div>
        {shown !== null && <p dir="auto">{shown}</p>}
        {records.map((record) => (
          <p key={record.id}>
            <a href={href(`${deskPaths.talk(record.id)}?list=${list}`)} dir="auto" {...listItem}>
              {record.title}
            </a>{' '}
            <span class="help" dir="auto">
              {record.category}
            </span>{' '}
            {record.state === 2 && <span class="mark warn">{words.draft}</span>}{' '}
            {first && record.id !== first.id && (
              <a
                href={href(`${deskPaths.mergeTalks(first.id)}?${mergeQuery(record.id, rule)}`)}
                aria-label={texts.compareWith(record.title, record.id)}
              >
                {texts.compare}
              </a>
            )}
          </p>
        ))}
        {names.map(({ slug, name, talks }) => (
          <p key={slug}>
            <bdi>{name}</bdi> <span class="help">{words.talkCount(String(talks), talks)}</span>
          </p>
        ))}
        {fix && <p class="help">{texts.fixTo(String(fix.value))}</p>}
      </div>
      {fix && first && (
        <FixForm
          rule={rule}
          cursor={cursor}
          targets={[fix.target]}
          label={texts.fixOf(first.title)}
        >
          {texts.fix}
        </FixForm>
      )}
    </>
  )
}

interface FixFormProps {
  readonly rule: string
  readonly cursor: string
  readonly targets: readonly string[]
  /** For screen readers. */
  readonly label?: string
  readonly children: string
}

function FixForm({ rule, cursor, targets, label, children }: FixFormProps) {
  return (
    <Form action={deskPaths.fixFindings(rule)}>
      <input type="hidden" name="cursor" value={cursor} />
      {targets.map((target) => (
        <input key={target} type="hidden" name="fix" value={target} />
      ))}
      <button type="submit" class="quiet" aria-label={label}>
        {children}
      </button>
    </Form>
  )
}
