import {
  type AtRiskReport,
  Problem,
  type Source,
  SourcePatch,
  type SourcePin,
  type SourceState,
  unavailableStates,
  validationErrors,
} from '@talkshelf/contract'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { findEvent } from '../auth/auth.ts'
import {
  asCommandError,
  type CommandContext,
  CommandError,
  integerArgument,
  type JsonOption,
  jsonOption,
  printTable,
} from '../command.ts'
import type { Origin } from '../platform/actor.ts'
import type { Pool } from '../platform/db/pool.ts'
import { print, printJson } from '../platform/terminal.ts'
import { escapeLine } from '../platform/terminal-escape.ts'
import { readCurrentVideo } from '../videos/videos.ts'
import { readAtRisk } from './at-risk.ts'
import {
  type ExaminedPage,
  listVideoSources,
  pinHost,
  pinSource,
  readExaminedSources,
  requestCheck,
  unhealthyStates,
} from './links.ts'

// `talkshelf links`: which videos are gone, and what operators decide about them.

const pageSize = 100
const maxListed = 1_000_000
/** Statements of the report may take longer than those of a request. */
const reportSeconds = 60

const help = `
Examples:
  talkshelf links list --state gone --host www.youtube.com
  talkshelf links check 412                     or the URL of the talk
  talkshelf links pin 17 --state ok --until 2027-06-30
  talkshelf links pin blip.tv --state gone --until 2036-12-31
  talkshelf links pin 17 --end

Hosts are asked by a server with CHECK_LINKS=on. These commands send no requests to them.`

/** Adds the commands of links. `origin` returns who runs a command, for the history. */
export function linkCommands(
  program: Command,
  { config, withPool, say }: CommandContext,
  origin: () => Origin,
): void {
  const links = program
    .command('links')
    .description('list videos that are gone, and decide about their sources')
    .addHelpText('after', help)

  links
    .command('list')
    .description('list unhealthy sources, with their talks')
    .addOption(new Option('--state <state>', 'only in this state').choices(unhealthyStates))
    .option('--host <name>', 'only at this host')
    .option('--event <title>', 'only of talks of this event')
    .addOption(
      new Option('--limit <count>', 'how many to list')
        .default(pageSize)
        .argParser(integerArgument(1, maxListed)),
    )
    .addOption(jsonOption())
    .action((options: ListOptions) =>
      withPool(async (pool) => {
        const sources = await listSources(pool, options)
        if (options.json) return void (await printJson(sources))
        printSources(sources)
        const hint = sources.length === options.limit ? ' There may be more: raise --limit.' : ''
        say(`Sources: ${sources.length}.${hint}`)
      }),
    )

  links
    .command('check')
    .description(
      'let the sources of a talk be checked as soon as the rate limits for their hosts allow',
    )
    .argument('<talk>', 'id or URL of the talk', talkArgument)
    .addOption(jsonOption())
    .action((id: number, { json }: JsonOption) =>
      withPool(async (pool) => {
        await asCommandError(readCurrentVideo(pool, id))
        const sources: Source[] = []
        for (const source of await listVideoSources(pool, id, 'editor'))
          sources.push(await requestCheck(pool, source.id))
        if (sources.length === 0)
          throw new CommandError(
            `Talk ${id} has no source that can be checked. Add the URL of its video first.`,
          )
        if (json) await printJson(sources)
        else
          printTable(
            { id: 'ID', state: 'STATE', url: 'URL' },
            sources.map(({ id, state, url }) => ({ id, state, url: escapeLine(url) })),
          )
        say(
          `Due now: ${sources.length}. 'talkshelf links list' shows later which are unhealthy: ` +
            'healthy sources are not listed.',
        )
        if (config().CHECK_LINKS === 'off')
          say('CHECK_LINKS is off here: they are checked only if a server has CHECK_LINKS=on.')
      }),
    )

  links
    .command('report')
    .description('show how many talks are at one operator only, or at none that can be reached')
    .addOption(jsonOption())
    .action(({ json }: JsonOption) =>
      withPool(
        async (pool) => {
          const report = await readAtRisk(pool.lists)
          if (json) await printJson(report)
          else await printReport(report)
        },
        { answerSeconds: reportSeconds },
      ),
    )

  links
    .command('pin')
    .description('keep a source, or all sources of a host, in a state, whatever checks find')
    .argument('<source>', 'id of a source, see the list, or the name of a host', targetArgument)
    .addOption(
      new Option('--state <state>', 'the state')
        .choices(['ok', ...unavailableStates])
        .conflicts('end'),
    )
    .addOption(
      new Option('--until <day>', 'the last day of the pin, YYYY-MM-DD')
        .argParser(dayArgument)
        .conflicts('end'),
    )
    .addOption(new Option('--end', 'end the pin: checks decide again'))
    .addOption(jsonOption())
    .action((target: number | string, options: PinOptions) =>
      withPool(async (pool) => {
        const pin = pinOf(options)
        if (typeof target === 'string') return pinAll(pool, target, pin, options)
        const source = await asCommandError(
          pinSource(pool, target, pin, origin()).catch((error: unknown) => {
            if (!(error instanceof Problem) || error.problem !== 'not-found') throw error
            throw new CommandError(
              `${error.message}. 'talkshelf links list' shows the ids of unhealthy sources, and ` +
                "'talkshelf links check' those of a talk.",
            )
          }),
        )
        if (options.json) return void (await printJson(source))
        say(
          `Source ${target} is ${source.state}${pin ? ` until ${pin.until}` : ', and not pinned'}.`,
        )
      }),
    )

  /** Pins all sources of a host, one part after the other. */
  async function pinAll(
    pool: Pool,
    host: string,
    pin: SourcePin | null,
    { json }: JsonOption,
  ): Promise<void> {
    let pinned = 0
    for (;;) {
      const result = await asCommandError(pinHost(pool, host, pin, { origin: origin() }))
      pinned += result.pinned
      if (result.left === 0 || result.pinned === 0) break
      say(`${pinned} done, ${result.left} left`)
    }
    if (json) await printJson({ host, pinned })
    if (pinned > 0) return say(`Sources of ${host} that were changed: ${pinned}.`)
    say(
      `No source of ${host} was changed: there is none, or none that this would change. ` +
        "'talkshelf links list' shows the hosts of unhealthy sources.",
    )
  }
}

interface ListOptions extends JsonOption {
  readonly state?: SourceState
  readonly host?: string
  readonly event?: string
  readonly limit: number
}

interface PinOptions extends JsonOption {
  readonly state?: SourcePin['state']
  readonly until?: string
  readonly end?: true
}

function pinOf({ state, until, end }: PinOptions): SourcePin | null {
  if (end) return null
  if (state !== undefined && until !== undefined) return { state, until }
  throw new CommandError('Set --state and --until, or end the pin with --end.', 2)
}

/** Parses the id of a talk, or reads it from the URL of its page or record. */
function talkArgument(text: string): number {
  const [, inUrl] = /\/(?:video|embed)\/(\d{1,15})(?:[/?#]|$)/.exec(text) ?? []
  if (/^https?:\/\//i.test(text) && inUrl === undefined)
    throw new InvalidArgumentError('Expected the URL of a talk, such as .../video/412/a-title.')
  return integerArgument(1, Number.MAX_SAFE_INTEGER)(inUrl ?? text)
}

/** Parses the id of a source, or the name of a host. */
function targetArgument(text: string): number | string {
  if (/^#?\d+$/.test(text)) return integerArgument(1, Number.MAX_SAFE_INTEGER)(text)
  if (/^[\w-]+(\.[\w-]+)+$/.test(text)) return text.toLowerCase()
  throw new InvalidArgumentError('Expected the id of a source or the name of a host.')
}

function dayArgument(text: string): string {
  const errors = validationErrors(SourcePatch, { pin: { state: 'gone', until: text } })
  const isOver = text < new Date().toISOString().slice(0, 10)
  if (errors.length > 0 || isOver)
    throw new InvalidArgumentError('Expected a day that is not in the past, written YYYY-MM-DD.')
  return text
}

async function listSources(
  pool: Pool,
  { state, host, event: title, limit }: ListOptions,
): Promise<ExaminedPage['sources'][number][]> {
  const event = title === undefined ? undefined : (await asCommandError(findEvent(pool, title))).id
  const filter = { state, host: host?.toLowerCase(), event }
  const listed: ExaminedPage['sources'][number][] = []
  for (let after: number | undefined = 0; after !== undefined && listed.length < limit; ) {
    const size = Math.min(pageSize, limit - listed.length)
    const page: ExaminedPage = await readExaminedSources(pool.lists, { ...filter, after, size })
    listed.push(...page.sources)
    after = page.next
  }
  return listed
}

function printSources(sources: ExaminedPage['sources']): void {
  const titles = {
    id: 'ID',
    state: 'STATE',
    since: 'SINCE',
    checked: 'CHECKED',
    talk: 'TALK',
    host: 'HOST',
    url: 'URL',
    title: 'TITLE',
  }
  const day = (time: string | null) => time?.slice(0, 10)
  const rows = sources.map(({ talks: [talk, ...more], ...source }) => ({
    id: source.id,
    state: source.pinned_until === null ? source.state : `${source.state} (pinned)`,
    since: day(source.since),
    checked: day(source.last_check),
    talk: talk && (more.length > 0 ? `${talk.id} +${more.length}` : talk.id),
    host: escapeLine(source.host),
    url: escapeLine(source.url),
    title: talk && escapeLine(talk.title),
  }))
  printTable(titles, rows)
}

async function printReport(report: AtRiskReport): Promise<void> {
  const { talks, sources, checked, unavailable } = report
  await print(`Talks: ${talks}. Sources: ${sources}, of which ${checked} were checked.`)
  await print(`Talks with no recording that can be reached: ${unavailable}\n`)
  const operators = report.by_operators.map(({ operators, talks }) => ({
    operators: operators === 4 ? '4 or more' : operators,
    talks,
  }))
  printTable({ operators: 'OPERATORS', talks: 'TALKS' }, operators)
  const risk = { talks: 'TALKS', unavailable: 'UNAVAILABLE' }
  if (report.hosts.length > 0) {
    await print('')
    const hosts = report.hosts.map((host) => ({ ...host, operator: escapeLine(host.operator) }))
    printTable({ operator: 'OPERATOR', only: 'NOWHERE ELSE', ...risk }, hosts)
  }
  if (report.events.length > 0) {
    await print('')
    const events = report.events.map(({ category, ...event }) => ({
      ...event,
      event: escapeLine(category.title),
    }))
    printTable({ event: 'EVENT', single: 'AT MOST ONE', ...risk }, events)
  }
  if (report.losses.length > 0) {
    await print('')
    printTable({ month: 'MONTH', lost: 'LOST', returned: 'RETURNED' }, report.losses)
  }
}
