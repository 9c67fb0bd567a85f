import { mediaNames, type TalkField } from '../desk/talk-values.ts'
import { bulkEn } from './desk-bulk-en.ts'
import { entitiesEn } from './desk-entities-en.ts'
import { followedSourcesEn } from './desk-followed-sources-en.ts'
import { importsEn } from './desk-imports-en.ts'
import { linksEn } from './desk-links-en.ts'
import { listsEn } from './desk-lists-en.ts'
import { matchesEn } from './desk-matches-en.ts'
import { namesEn, speakerLinksEn } from './desk-names-en.ts'
import { picturesEn } from './desk-pictures-en.ts'
import { qualityEn } from './desk-quality-en.ts'
import { suggestionsEn } from './desk-suggestions-en.ts'
import { webhooksEn } from './desk-webhooks-en.ts'

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
    suggester: 'Suggests corrections, as all readers can.',
    editor: 'Changes talks, events, speakers and tags.',
    admin: 'Also takes talks down and manages people, tokens and webhooks.',
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
    created: 'The talk was created.',
    'copy-discarded': 'Your changes were discarded.',
    scheduled: 'Saved. The draft goes live at the time that you chose.',
    'publication-cancelled': 'The talk stays a draft.',
    'taken-down': 'The talk was taken down.',
    'passkey-added': 'Passkey added.',
    'passkey-removed': 'Passkey removed.',
    'identity-added': 'The account is connected.',
    'identity-removed': 'The account is no longer connected.',
    'session-ended': 'The session was ended.',
    'sessions-ended': 'The sessions were ended.',
    disabled: 'This person can no longer sign in.',
    enabled: 'This person can sign in again.',
    revoked: 'The token was revoked.',
    'ping-delivered': 'The ping was delivered.',
    'ping-failed': 'The ping was not delivered. The list of deliveries shows why.',
    'webhook-enabled': 'The webhook is enabled.',
    'webhook-disabled': 'The webhook is disabled.',
    'webhook-replayed': 'The changes are sent again.',
    'webhook-deleted': 'The webhook was deleted.',
    reverted: 'Reverted.',
    ...importsEn.done,
    ...followedSourcesEn.done,
    ...entitiesEn.done,
    ...qualityEn.done,
    ...matchesEn.done,
    ...suggestionsEn.done,
    ...linksEn.done,
  } as Readonly<Record<string, string>>,

  // Home
  welcome: (name: string) => `Welcome, ${name}`,
  homeTalks: 'Find and correct a talk',
  inbox: {
    copies: 'Go on where you stopped',
    copySaved: (age: string) => `typed ${age}, not saved`,
    imports: 'Imports that wait for you',
    importStarted: (by: string, age: string) => `by ${by}, ${age}`,
    conflicts: (count: string) => `to decide: ${count}`,
    scheduled: 'Going live',
    scheduledBy: (time: string, age: string, by: string) => `${time} (${age}), by ${by}`,
    empty: 'Nothing waits for you.',
  },
  homeNothing: 'There is nothing to do here yet for your role.',
  addPasskeyFirst: 'Add a passkey, so that you can sign in again without a link.',

  // Sign-in
  signIn: 'Sign in',
  signInWithPasskey: 'Sign in with a passkey',
  noPasskey: 'No passkey on this device?',
  noPasskeyHelp:
    'Ask an administrator for a sign-in link. Operators create one with "talkshelf person link".',
  mailLinkHelp: 'You get a link that works once, within 15 minutes.',
  sendLink: 'Send me a link',
  mailSentTitle: 'Check your mail',
  mailSentHelp:
    'If this address belongs to a person here, a sign-in link is on its way. Open it in this ' +
    'browser within 15 minutes. Nothing there? Check your spam folder. At most five links are ' +
    'sent to an address in 15 minutes.',
  mailSentCode: 'If you open the link in another browser, enter this code there:',
  otherBrowser: 'You asked for this link in another browser. Enter the six-digit code it shows.',
  signInWith: (provider: string) => `Sign in with ${provider}`,
  confirmWith: (provider: string) => `Confirm with ${provider}`,
  continueTo: (provider: string) => `Continue to ${provider}`,
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
    openid: 'The sign-in was not accepted, was cancelled or took too long. Try again.',
    'openid-unavailable':
      'The sign-in service does not respond. Try again later, or sign in with a passkey or a link.',
    'unknown-identity':
      'This account belongs to no person here. Ask an administrator for an invitation, or sign in ' +
      'in another way and connect it in your account.',
    'identity-taken': 'This account already belongs to another person here. Use another one.',
    'too-many': 'Too many links were requested. Try again in a few minutes.',
  },

  // Account
  passkeys: 'Passkeys',
  passkeysNone: 'You have no passkey yet.',
  passkeysHelp: 'Add one for each device that does not share passkeys with your others.',
  passkeyName: 'Name of the passkey',
  defaultPasskeyName: 'Passkey',
  addPasskey: 'Add a passkey',
  otherHost: (host: string) => `for ${host}`,
  identities: 'Other accounts',
  connect: (provider: string) => `Connect your account at ${provider}`,
  sessions: 'Sessions',
  thisSession: 'This session',
  signedInWith: { link: 'link', passkey: 'passkey', openid: 'other account' } as Readonly<
    Record<string, string>
  >,
  endSession: 'End session',
  endOtherSessions: 'End all other sessions',

  // Talks
  talks: 'Talks',
  drafts: 'Drafts',
  state: 'State',
  search: 'Search',
  searchTalks: 'Search talks',
  talkCount: (text: string, count: number) => (count === 1 ? '1 talk' : `${text} talks`),
  noTalks: 'No talks found.',
  previousPage: 'Previous page',
  nextPage: 'Next page',
  list: 'Back to the list',
  previousTalk: 'Previous talk',
  nextTalk: 'Next talk',
  newTalk: 'New talk',
  live: 'Live',
  draft: 'Draft',
  watchPage: 'Page of the talk',
  takeDown: 'Take down',
  saveAsDraft: 'Save as a draft',
  saveAndPublish: 'Save and publish',
  previewTalk: 'Preview as readers see it',
  picture: 'The picture of this talk',
  publishLater: 'Publish later',
  publishAt: (zone: string) => `Day and time (${zone})`,
  saveAndSchedule: 'Save and publish then',
  goesLive: (time: string) => `This draft goes live on ${time}.`,
  cancelPublication: 'Keep it as a draft',
  publish: 'Publish',
  saveDraft: 'Save as a draft',
  notSaved: 'Nothing was saved. Please correct:',
  copyRestored: (time: string) => `These are changes that you did not save, of ${time}.`,
  discardCopy: 'Discard them',
  copyKept: 'Your changes are kept until you save them.',
  copyFailed: 'Your changes could not be kept. Save them soon.',
  editorKeys:
    'Ctrl S saves, Ctrl Enter saves and publishes, Alt ← and Alt → go to the previous and next talk.',
  onePerLine: 'One per line.',
  newName: 'New in this archive:',
  categoryHelp: 'The title of an existing event.',
  durationHelp: 'Such as 45:00 or 1:02:03.',
  sourceHelp: 'The page of the video, on YouTube for example.',
  whiteboardHelp: 'For editors, but everyone can read them.',
  files: 'Files and embed code',
  preview: 'Preview',
  groups: {
    what: 'What',
    who: 'Who',
    when: 'When',
    where: 'Where to watch',
    rights: 'Rights',
    notes: 'Notes',
  },
  markdownHelp: 'Markdown: **bold**, *italic*, [link](https://example.org).',
  talkFields: {
    state: 'State',
    title: 'Title',
    category: 'Event',
    language: 'Language',
    speakers: 'Speakers',
    tags: 'Tags',
    summary: 'Summary',
    description: 'Description',
    recorded: 'Recorded on',
    duration: 'Duration',
    source_url: 'Video',
    thumbnail_url: 'Picture',
    embed: 'Embed code',
    copyright_text: 'Licence',
    quality_notes: 'Problems of the recording',
    whiteboard: 'Notes of the editors',
    ...mediaNames('URL of the', 'file', 'Size in bytes of the', 'is for download only'),
  } as Readonly<Record<TalkField | 'state', string>>,
  mergeTitle: (title: string) => `Both changed: ${title}`,
  mergeHelp:
    'Your changes are not saved yet: another person changed the same fields while you were ' +
    'editing. Choose what to keep; all your other changes are saved with it.',
  mergeBase: 'Before',
  mergeCurrent: 'Theirs, saved meanwhile',
  mergeEdited: 'Yours',
  mergeOther: 'Something else',
  emptyValue: '(empty)',
  backToEditor: 'Back',
  takedownTitle: (title: string) => `Take down: ${title}`,
  takedownHelp:
    'The talk disappears for good, from pages, feeds, exports and searches. Its address says that ' +
    'it was taken down, and why. To hide a talk for a while, save it as a draft instead.',
  takedownReason: 'Reason',
  takedownReasonHelp: 'Everyone who opens the address can read it.',

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
  sendByMail: 'Send the link by mail',
  linkMailed: (mail: string) => `The link is on its way to ${mail}.`,
  linkNotMailed: 'The link was not sent by mail: too many mails are waiting. Send it yourself.',
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
  mailHelp: 'A new address ends sign-in links that were not used.',
  yourself: 'This is you. Another administrator can change your role.',

  // Mails
  mails: {
    greeting: (name: string) => `Hello, ${name},`,
    signInSubject: (site: string) => `Sign in to ${site}`,
    signInText: (site: string) =>
      `Open this link to sign in to ${site}. It works once, within 15 minutes, in the browser ` +
      'in which you asked for it. In another browser you also need the code shown there.',
    ignore: 'If you did not ask for it, ignore this mail. The link is of no use to others.',
    invitationSubject: (site: string) => `Your sign-in link for ${site}`,
    invitationText: (site: string) =>
      `Open this link to sign in to ${site}. It works once, within seven days.`,
    codeText: (code: string) => `Code, needed only to sign in without a passkey: ${code}`,
  },

  // Tokens
  tokensHelp:
    'A token lets a program use the API. It is shown once, when it is created, and stops working ' +
    'while the person who created it is disabled.',
  newToken: 'New token',
  tokenFor: 'Person or program',
  days: 'Valid for days',
  createToken: 'Create token',
  tokenCreated: (name: string) => `Token for ${name}`,
  tokenCreatedHelp: 'Store it now. It is not shown again.',
  createdBy: (name: string) => `Created by ${name}`,
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
    'name-change-discarded': 'discarded the change of a name',
    'name-change-planned': 'looked for a former name of a speaker',
    'name-changed': 'changed a name on request',
    'speaker-link-created': 'created a link for a speaker',
    'speaker-link-revoked': 'revoked the link of a speaker',
    'speaker-request-closed': 'closed the request of a speaker',
    'person-invited': 'invited',
    'person-changed': 'changed',
    'person-disabled': 'disabled',
    'person-reset': 'removed all ways of signing in of',
    'person-enabled': 'enabled',
    'event-editor-added': 'gave an event to',
    'event-editor-removed': 'took an event from',
    'link-created': 'created a sign-in link for',
    'signed-in': 'signed in',
    'signed-out': 'signed out',
    'sessions-ended': 'ended the sessions of',
    'passkey-added': 'added a passkey',
    'passkey-removed': 'removed a passkey',
    'identity-added': 'connected an account',
    'identity-removed': 'removed a connected account',
    'token-created': 'created a token',
    'token-revoked': 'revoked a token',
    'access-restricted': 'restricted access after a restore',
    'webhook-created': 'created a webhook',
    'webhook-changed': 'changed a webhook',
    'webhook-deleted': 'deleted a webhook',
    'webhook-pinged': 'sent a ping to a webhook',
    'webhook-secret-rotated': 'created a new secret of a webhook',
    'webhook-replayed': 'sent changes to a webhook again',
    'webhook-enabled': 'enabled a webhook',
    'webhook-disabled': 'disabled a webhook',
    'followed-source-created': 'created a followed source',
    'followed-source-changed': 'changed a followed source',
    'followed-source-deleted': 'deleted a followed source',
    'followed-source-disabled': 'disabled a followed source',
    'synonyms-changed': 'changed the synonyms of the search',
    'suggestion-accepted': 'accepted a suggestion',
    'suggestion-declined': 'declined a suggestion',
    'suggestion-reopened': 'opened a suggestion again',
  } as Readonly<Record<string, string>>,

  // History
  history: 'History',
  historyOf: (title: string) => `History: ${title}`,
  historyHelp: 'Revert takes back one change and keeps later ones.',
  foreignEvent: 'You can read this history. You may change talks of your own events only.',
  showTalk: 'Show the talk',
  revision: (revision: number) => `Revision ${revision}`,
  changeKinds: {
    created: 'Created',
    updated: 'Changed',
    restored: 'Restored',
    merged: 'Merged',
  } as Readonly<Record<string, string>>,
  mergedInto: 'Merged into',
  origins: { api: 'API', import: 'Import', page: 'Web page', command: 'Command line' } as Readonly<
    Record<string, string>
  >,
  importNumber: (number: string) => `Import ${number}`,
  onlyNames: 'Only names were updated, after a rename or a merge.',
  addedText: 'Added',
  removedText: 'Removed',
  omittedText: 'Text left out',
  newOrder: 'New order',
  yes: 'Yes',
  no: 'No',
  revert: 'Revert',
  revertChange: 'Revert this change',
  notReverted: 'Not reverted',
  changedSince: (revision: string) =>
    `${revision} was not reverted: these fields were changed again since.`,
  currentValue: 'Current value',
  oldValue: 'Value that would return',
  revertOthers: 'Revert the other fields',
  revertOthersHelp: (fields: readonly string[]) => `Can be reverted: ${fields.join(', ')}.`,
  imports: importsEn,
  entities: entitiesEn,
  nameChanges: namesEn,
  speakerLinks: speakerLinksEn,
  pictures: picturesEn,
  followedSources: followedSourcesEn,
  suggestions: suggestionsEn,
  webhooks: webhooksEn,
  quality: qualityEn,
  bulk: bulkEn,
  matches: matchesEn,
  lists: listsEn,
  links: linksEn,

  // Errors
  forbiddenTitle: 'You may not do that',
  forbiddenHelp: (role: string) => `Your role is ${role}. Ask an administrator for another one.`,
}

export type DeskMessages = typeof deskEn
