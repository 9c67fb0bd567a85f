import { importsEn } from './desk-imports-en.ts'

export const deskEn = {
  // All pages
  skip: 'Skip to content',
  desk: 'Desk',
  deskMenu: 'Desk menu',
  backToArchive: 'Back to the archive',
  people: 'People',
  tokens: 'Tokens',
  audit: 'Audit log',
  account: 'Your account',
  signOut: 'Sign out',
  signedInAs: (name: string) => `Signed in as ${name}`,
  roles: { suggester: 'Suggester', editor: 'Editor', admin: 'Administrator' },
  roleHelp: {
    suggester: 'Suggests corrections. The pages for that are not there yet.',
    editor: 'Changes talks, events, speakers and tags; for now only with a token.',
    admin: 'Also takes talks down and manages people and tokens.',
  },
  name: 'Name',
  role: 'Role',
  mail: 'Email',
  optional: 'optional',
  created: 'Created',
  lastUsed: 'Last used',
  lastSeen: 'Last seen',
  never: 'Never',
  save: 'Save',
  remove: 'Remove',
  copy: 'Copy',
  copied: 'Copied',
  done: {
    'signed-out': 'You are signed out.',
    saved: 'Saved.',
    'passkey-added': 'Passkey added.',
    'passkey-removed': 'Passkey removed.',
    'session-ended': 'The session was ended.',
    'sessions-ended': 'The sessions were ended.',
    disabled: 'This person can no longer sign in.',
    enabled: 'This person can sign in again.',
    revoked: 'The token was revoked.',
    ...importsEn.done,
  } as Readonly<Record<string, string>>,

  // Home
  welcome: (name: string) => `Welcome, ${name}`,
  homeHelp: 'Here you manage who may change the archive.',
  homeNothing: 'There is nothing to do here yet for your role.',
  addPasskeyFirst: 'Add a passkey, so that you can sign in again without a link.',

  // Sign-in
  signIn: 'Sign in',
  signInWithPasskey: 'Sign in with a passkey',
  noPasskey: 'No passkey on this device?',
  noPasskeyHelp:
    'Ask an administrator for a sign-in link. Operators create one with "talkshelf person link".',
  scriptsNeeded: 'Passkeys need JavaScript. Without it, sign in with a link.',
  passkeysUnsupported:
    'Passkeys do not work here: they need a recent browser, HTTPS and a host name. Sign in with a ' +
    'link and its code.',
  passkeyCancelled: 'The passkey was not used. Try again.',
  passkeyExists: 'This device already has a passkey for your account.',
  linkTitle: (name: string) => `Hello, ${name}`,
  linkHelp:
    'Create a passkey to sign in: your fingerprint, face, PIN or security key. There is no ' +
    'password. The link works once.',
  createPasskey: 'Create a passkey and sign in',
  withoutPasskey: 'Sign in without a passkey',
  codeHelp: 'Enter the six-digit code that you received together with the link.',
  code: 'Code',
  confirmTitle: 'Confirm that it is you',
  confirmHelp:
    'Confirm with your passkey to manage people, tokens and passkeys. It lasts for 10 minutes. If ' +
    'you have just sent a form, send it again afterwards.',
  confirmFirst: 'Confirm that it is you to add or remove passkeys',
  confirm: 'Confirm with a passkey',
  confirmWithoutPasskey:
    'You have no passkey for this site, and signed in more than 10 minutes ago. Sign in again with ' +
    'a new link, then add a passkey at once.',
  refused: {
    link:
      'This link no longer works: it was used, has expired, was replaced or had too many wrong ' +
      'codes. Ask for a new one.',
    code: 'The code is wrong. After five wrong codes the link no longer works.',
    passkey: 'The passkey was not accepted. Try again.',
    'unknown-passkey':
      'This passkey is not known here. It was removed, or belongs to another address of the ' +
      'archive. Ask for a sign-in link.',
  },

  // Account
  passkeys: 'Passkeys',
  passkeysNone: 'You have no passkey yet.',
  passkeysHelp: 'Add one for each device that does not share passkeys with your others.',
  passkeyName: 'Name of the passkey',
  defaultPasskeyName: 'Passkey',
  addPasskey: 'Add a passkey',
  otherHost: (host: string) => `for ${host}`,
  sessions: 'Sessions',
  thisSession: 'This session',
  signedInWith: { link: 'link', passkey: 'passkey' } as Readonly<Record<string, string>>,
  endSession: 'End session',
  endOtherSessions: 'End all other sessions',

  // People
  invite: 'Invite a person',
  inviteHelp: 'You get a link to send. It works once, within seven days.',
  inviteButton: 'Invite',
  disabled: 'Disabled',
  passkeyCount: (count: number) => (count === 1 ? '1 passkey' : `${count} passkeys`),
  linkCreated: (name: string) => `Send this link to ${name}`,
  linkCreatedHelp:
    'It signs them in once, within seven days, and is not shown again. Send it in a private ' +
    'message.',
  linkCode: 'Code, needed only without a passkey',
  events: 'Events',
  eventsHelp:
    'A suggester edits the talks of these events, and no others. Editors and administrators edit ' +
    'all talks.',
  event: 'Title of the event',
  addEvent: 'Add event',
  editorOf: (event: string) => `edits ${event}`,
  newLink: 'New sign-in link',
  newLinkHelp: 'For another device, or if a passkey was lost. Earlier links stop working.',
  endSessions: 'End all sessions',
  disable: 'Disable',
  disableHelp: 'They are signed out at once and can no longer sign in. The history stays.',
  enable: 'Enable',
  yourself: 'This is you. Another administrator can change your role.',

  // Tokens
  tokensHelp: 'A token lets a program use the API. It is shown once, when it is created.',
  newToken: 'New token',
  tokenFor: 'Person or program',
  days: 'Valid for days',
  createToken: 'Create token',
  tokenCreated: (name: string) => `Token for ${name}`,
  tokenCreatedHelp: 'Store it now. It is not shown again.',
  expires: 'Expires',
  revoked: 'Revoked',
  revoke: 'Revoke',

  // Audit log
  auditHelp:
    'Who was invited, signed in or changed, for two years. Changes of talks are in their history.',
  auditEmpty: 'Nothing yet.',
  when: 'When',
  who: 'Who',
  what: 'What',
  details: 'Details',
  older: 'Older',
  auditKinds: {
    'person-invited': 'invited',
    'person-changed': 'changed',
    'person-disabled': 'disabled',
    'person-enabled': 'enabled',
    'event-editor-added': 'gave an event to',
    'event-editor-removed': 'took an event from',
    'link-created': 'created a sign-in link for',
    'signed-in': 'signed in',
    'signed-out': 'signed out',
    'sessions-ended': 'ended the sessions of',
    'passkey-added': 'added a passkey',
    'passkey-removed': 'removed a passkey',
    'token-created': 'created a token',
    'token-revoked': 'revoked a token',
  } as Readonly<Record<string, string>>,

  imports: importsEn,

  // Errors
  forbiddenTitle: 'You may not do that',
  forbiddenHelp: (role: string) => `Your role is ${role}. Ask an administrator for another one.`,
}

export type DeskMessages = typeof deskEn
