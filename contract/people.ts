import Type, { type Static, type TSchema } from 'typebox'
import { endpoint, Id, jsonType, mergePatchType } from './endpoint.ts'
import { PageSize } from './page.ts'
// Registers the string format `text`.
import './formats.ts'

// People who sign in, and the audit log. All endpoints are for administrators.

const exact = { additionalProperties: false }
const id = Type.Integer({ minimum: 1, description: 'Id of the person' })
const name = Type.String({
  minLength: 1,
  maxLength: 100,
  format: 'text',
  description: 'Name on one line; shown in the history',
})
const mail = Type.Union([Type.String({ minLength: 3, maxLength: 254 }), Type.Null()], {
  description: 'Mail address, or null. Each address belongs to one person',
})
const role = Type.Union(
  (['suggester', 'editor', 'admin'] as const).map((role) => Type.Literal(role)),
  { description: 'Permissions of the person' },
) as unknown as ReturnType<typeof Type.Unsafe<'suggester' | 'editor' | 'admin'>>
const timestamp = (description: string) => Type.String({ description })
const maybeTimestamp = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description })

export const Person = Type.Object(
  {
    id,
    name,
    mail,
    role,
    created: timestamp('When the person was invited (UTC)'),
    disabled: maybeTimestamp('Since when the person cannot sign in (UTC), or null'),
    last_seen: maybeTimestamp('Last use of a session that has not ended (UTC), or null'),
    passkeys: Type.Integer({ minimum: 0, description: 'Number of passkeys' }),
    events: Type.Array(Type.Object({ id: Id, title: Type.String() }, exact), {
      description: 'Events whose talks the person edits, whatever the role',
    }),
  },
  { ...exact, description: 'A person who can sign in' },
)

export const SignInUrl = Type.Object(
  {
    url: Type.String({
      description: 'Signs the person in once, within seven days. It is not shown again',
    }),
    code: Type.String({ description: 'Six digits, needed only to sign in without a passkey' }),
  },
  { ...exact, description: 'A sign-in link' },
)

const InvitedPerson = Type.Object(
  { person: Person, link: SignInUrl },
  { ...exact, description: 'A new person and their sign-in link' },
)

export const PersonInput = Type.Object(
  { name, mail: Type.Optional(mail), role },
  { ...exact, description: 'A person to invite' },
)

export const PersonPatch = Type.Object(
  {
    name: Type.Optional(name),
    mail: Type.Optional(mail),
    role: Type.Optional(role),
    disabled: Type.Optional(
      Type.Boolean({
        description: 'true ends all sessions and links; the person can no longer sign in',
      }),
    ),
  },
  { ...exact, description: 'Fields of a person to change' },
)

const AuditEvent = Type.Object(
  {
    id: Type.Integer({ minimum: 1, description: 'Id of the event' }),
    at: timestamp('Time of the event (UTC)'),
    actor: Type.String({ description: 'Name of the person, operator or token at that time' }),
    kind: Type.String({
      description: 'What happened, such as signed-in. New kinds can be added at any time',
    }),
    subject_id: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Id of the person that it is about, or null',
    }),
    subject: Type.Union([Type.String(), Type.Null()], {
      description: 'Current name of that person, or null',
    }),
    detail: Type.Record(Type.String(), Type.Unknown(), {
      description: 'More about the event, by kind',
    }),
  },
  { ...exact, description: 'An event of the audit log' },
)

const list = <T extends TSchema>(schema: T, description: string) =>
  Type.Object(
    {
      results: Type.Array(schema),
      next: Type.Union([Type.String({ description: 'URL of the next page' }), Type.Null()]),
    },
    { ...exact, description },
  )

export type Person = Static<typeof Person>

export const listPeopleEndpoint = endpoint({
  name: 'listPeople',
  method: 'GET',
  path: '/api/v2/person',
  role: 'admin',
  summary: 'List people, by id',
  query: { after: Id, page_size: PageSize },
  response: { status: 200, schema: list(Person, 'A page of people') },
  problems: [],
})

export const invitePersonEndpoint = endpoint({
  name: 'invitePerson',
  method: 'POST',
  path: '/api/v2/person',
  role: 'admin',
  summary: 'Invite a person',
  description: 'The response has the sign-in link. No mail is sent.',
  body: { schema: PersonInput, types: [jsonType] },
  response: { status: 201, schema: InvitedPerson },
  problems: ['name-taken'],
})

export const patchPersonEndpoint = endpoint({
  name: 'patchPerson',
  method: 'PATCH',
  path: '/api/v2/person/{id}',
  role: 'admin',
  summary: 'Change a person',
  description: 'Changes the given fields, all or none. A person who is disabled is signed out.',
  params: { id },
  body: { schema: PersonPatch, types: [mergePatchType, jsonType] },
  response: { status: 200, schema: Person },
  problems: ['name-taken'],
})

export const createPersonLinkEndpoint = endpoint({
  name: 'createPersonLink',
  method: 'POST',
  path: '/api/v2/person/{id}/link',
  role: 'admin',
  summary: 'Create a sign-in link',
  description: 'For another device, or if a passkey was lost. Earlier links stop working.',
  params: { id },
  response: { status: 200, schema: SignInUrl },
  problems: ['wrong-state'],
})

export const listAuditEventsEndpoint = endpoint({
  name: 'listAuditEvents',
  method: 'GET',
  path: '/api/v2/audit',
  role: 'admin',
  summary: 'List the audit log, newest first',
  description: 'What is no change of a record: invitations, sign-ins, roles and tokens.',
  query: { before: Id, page_size: PageSize },
  response: { status: 200, schema: list(AuditEvent, 'A page of the audit log') },
  problems: [],
})

export const peopleEndpoints = {
  listPeople: listPeopleEndpoint,
  invitePerson: invitePersonEndpoint,
  patchPerson: patchPersonEndpoint,
  createPersonLink: createPersonLinkEndpoint,
  listAuditEvents: listAuditEventsEndpoint,
} as const
