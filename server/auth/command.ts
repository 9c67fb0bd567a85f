import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import { userInfo } from 'node:os'
import { deskPaths } from '@talkshelf/web'
import { Option } from 'commander'
import {
  type AddCommands,
  asCommandError,
  integerArgument,
  type JsonOption,
  jsonOption,
  nameArgument,
  printTable,
} from '../command.ts'
import type { Config } from '../config.ts'
import { print, printJson } from '../platform/terminal.ts'
import type { AuditOrigin } from './audit.ts'
import {
  changePerson,
  createLinkFor,
  invitePerson,
  listPeople,
  readPerson,
  setDisabled,
  setEventEditor,
} from './people.ts'
import { type PersonRole, personRoles } from './queries.ts'
import type { SignInLink } from './sign-in.ts'

// `talkshelf person`: invites people and changes their roles without signing in. This is also the
// way back in if all administrators have lost their passkeys.

/** Adds the commands of people. */
export const personCommands: AddCommands = (program, { config, withPool, say }) => {
  const person = program
    .command('person')
    .description('invite people who sign in at /desk, and change their roles')
  const parseId = integerArgument(1, Number.MAX_SAFE_INTEGER)

  const urlOf = ({ secret }: SignInLink) => `${deskUrl(config())}${deskPaths.link(secret)}`
  const explainLink = (name: string, { code }: SignInLink) =>
    say(
      `Send this link to ${name}. It signs them in once, within seven days, and is not shown ` +
        `again.\nCode, needed only to sign in without a passkey: ${code}`,
    )

  person
    .command('invite')
    .description('add a person and print a link that signs them in once')
    .argument('<name>', 'name of the person; shown in the history', nameArgument)
    .addOption(roleOption())
    .option('--mail <address>', 'mail address, to tell people with the same name apart')
    .addOption(jsonOption())
    .action(async (name: string, options: { role: PersonRole; mail?: string } & JsonOption) => {
      await withPool(async (pool) => {
        const { role, mail = null, json } = options
        const invited = invitePerson(pool, { name, role, mail }, operator())
        const { id, link } = await asCommandError(invited)
        say(`Added person ${id}: ${name} (${role}).`)
        const url = urlOf(link)
        if (json)
          await printJson({ person: await readPerson(pool, id), link: { url, code: link.code } })
        else await print(url)
        explainLink(name, link)
      })
    })

  person
    .command('event')
    .description('let a suggester edit the talks of one event')
    .argument('<id>', 'id of the person', parseId)
    .argument('<title>', 'title of the event')
    .option('--remove', 'no longer')
    .action((id: number, title: string, { remove = false }: { remove?: boolean }) =>
      withPool(async (pool) => {
        await asCommandError(setEventEditor(pool, id, title, !remove, operator()))
        const { name } = await readPerson(pool, id)
        say(`${name} ${remove ? 'no longer edits' : 'now edits'} the talks of ${title}.`)
      }),
    )

  person
    .command('list')
    .description('list all people')
    .addOption(jsonOption())
    .action(({ json }: JsonOption) =>
      withPool(async (pool) => {
        const people = await listPeople(pool)
        if (json) return void (await printJson(people))
        const titles = {
          id: 'ID',
          name: 'NAME',
          role: 'ROLE',
          mail: 'MAIL',
          passkeys: 'PASSKEYS',
          last_seen: 'LAST SEEN',
          disabled: 'DISABLED',
        }
        if (people.length > 0) printTable(titles, people)
        else say("There are no people yet. Invite one: talkshelf person invite 'Ada' --role admin")
      }),
    )

  person
    .command('link')
    .description('print a new sign-in link for a person; earlier links stop working')
    .argument('<id>', 'id of the person, see `talkshelf person list`', parseId)
    .option('--reset', 'also remove all passkeys, connected accounts and sessions of the person')
    .addOption(jsonOption())
    .action((id: number, { reset, json }: { reset?: true } & JsonOption) =>
      withPool(async (pool) => {
        const options = { reset: reset === true }
        const link = await asCommandError(createLinkFor(pool, id, operator(), options))
        const { name } = await readPerson(pool, id)
        if (reset) say(`${name} is signed out everywhere and has no passkeys any more.`)
        const url = urlOf(link)
        if (json) await printJson({ url, code: link.code })
        else await print(url)
        explainLink(name, link)
      }),
    )

  person
    .command('role')
    .description('change the role of a person')
    .argument('<id>', 'id of the person', parseId)
    .addOption(roleOption())
    .action((id: number, { role }: { role: PersonRole }) =>
      withPool(async (pool) => {
        await asCommandError(changePerson(pool, id, { role }, operator()))
        say(`${(await readPerson(pool, id)).name} is now ${role}.`)
      }),
    )

  for (const [command, isDisabled, effect] of [
    ['disable', true, 'can no longer sign in'],
    ['enable', false, 'can sign in again'],
  ] as const)
    person
      .command(command)
      .description(
        isDisabled ? 'end the sessions of a person, who can no longer sign in' : 'undo `disable`',
      )
      .argument('<id>', 'id of the person', parseId)
      .action((id: number) =>
        withPool(async (pool) => {
          await asCommandError(setDisabled(pool, id, isDisabled, operator()))
          say(`${(await readPerson(pool, id)).name} ${effect}.`)
        }),
      )
}

function roleOption(): Option {
  return new Option('--role <role>', 'permissions of the person')
    .choices(personRoles)
    .makeOptionMandatory()
}

/** Returns the base URL of links. It has no IP address, because passkeys need a host name. */
function deskUrl({ PUBLIC_URL, HOST, PORT }: Config): string {
  const host = isIP(HOST) ? 'localhost' : HOST
  return PUBLIC_URL.replace(/\/+$/, '') || `http://${host}:${PORT}`
}

/** Returns the operator in the terminal, for the audit log. */
export function operator(): AuditOrigin {
  return { actor: `${userInfo().username} (terminal)`, person: null, request: randomUUID() }
}
