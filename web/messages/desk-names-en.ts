/** The texts of the links of speakers. */
export const speakerLinksEn = {
  title: (name: string) => `Links for ${name}`,
  link: 'Link for the speaker',
  linkHelp: 'With a link, the speaker confirms or corrects their own talks, without an account.',
  help:
    'Send the link to the speaker yourself. Anyone who has it sees the talks and the profile of the ' +
    'speaker, and can suggest changes. You decide about them in the inbox.',
  created: 'Copy the link now: it is not shown again. It works for 90 days.',
  create: 'Create a link',
  links: 'Links that work',
  createdBy: (by: string, time: string) => `Created by ${by}, ${time}`,
  until: (time: string) => `works until ${time}`,
  lastUsed: (time: string) => `last used ${time}`,
  revoke: 'Revoke',
  confirmations: 'Confirmed by the speaker',
  confirmed: (revision: number, time: string) => `revision ${revision}, ${time}`,
  fromSpeaker: 'from the speaker',
  requests: 'Requests of speakers',
  kinds: { profile: 'Profile', name: 'Change of name', removal: 'Removal' },
  close: 'Done',
  closeOf: (name: string) => `The request of ${name} is done`,
}

export type SpeakerLinksMessages = typeof speakerLinksEn

/** The texts of name changes. */
export const namesEn = {
  link: 'Change the name permanently',
  linkHelp: 'Removes a former name from everything, also from the history.',
  title: (name: string) => `Permanently change the name of ${name}`,
  help:
    'The old name disappears from all talks, texts, events, tags, imports, suggestions and from ' +
    'the history. You see every occurrence first.',
  permanent: 'This cannot be undone: no copy of the old name is kept.',
  newName: 'New name',
  oldNames: 'Old names',
  oldNamesHelp:
    'One per line. Capitals, accents and hyphens do not matter. For a part of the name, write ' +
    'what replaces it: Brian => Bea.',
  inLinks: 'Also in links to other sites. They stop working unless the other site changes too.',
  search: 'Find all occurrences',
  changes: 'Name changes',
  imports: 'Imports',
  importsHelp:
    'If an import brings an old name of this speaker again, it is replaced. Only a hash of the ' +
    'old name is stored for that.',
  states: {
    planning: 'Searching',
    planned: 'Preview',
    applying: 'Changing',
    applied: 'Changed',
    discarded: 'Discarded',
  },
  stateHelp: {
    planning: 'All tables are searched for the old names.',
    planned: 'Nothing has changed yet.',
    applying: 'The names are being replaced. You can leave this page.',
    applied: 'The old names are gone.',
    discarded: 'Nothing was changed, and the names were deleted.',
  },
  progress: (table: string, count: string) =>
    table === '' ? `${count} occurrences so far` : `${table}: ${count} occurrences so far`,
  found: (rows: string, places: string) => `${rows} occurrences, in ${places} fields and tables.`,
  places: 'Occurrences',
  placesHelp:
    'Remove the tick where the text is about another person. The history and the imports of a ' +
    'talk follow what you choose for the talk.',
  rows: (count: string) => `${count} times`,
  marks: { link: 'Link: stays', account: 'Not changed' } as Readonly<Record<string, string>>,
  save: 'Save the selection',
  saveAndNext: 'Save and show more occurrences',
  apply: (name: string) => `Permanently change the name of ${name}`,
  discard: 'Discard',
  applied: (count: string) => `${count} rows were changed.`,
  remaining: 'Remaining occurrences',
  remainingHelp: 'The old names were replaced, except for the remaining occurrences below.',
  refusals: {
    link: 'has it in a link to another site.',
    invalid: 'could not be changed: the new text is too long, or the name is taken.',
    missed: 'was edited again and again while the name was replaced. Change the name once more.',
    account: 'Not changed: account or setting. An administrator can change it.',
  } as Readonly<Record<string, string>>,
  problems: {
    'too-slow': 'The last step took too long for the database. It is tried again.',
    failed: 'The last step failed. It is tried again; the log of the server has the error.',
  },
  subjects: {
    video: 'Talk',
    facts: 'Facts of talk',
    speaker: 'Speaker',
    tag: 'Tag',
    category: 'Event',
    synonyms: 'Synonyms',
    change: 'History',
    import: 'Imports',
    import_row: 'Rows of imports',
    import_entity: 'Names in imports',
    source_record: 'What sources said',
    match: 'Matches',
    match_item: 'Files of matches',
    match_decision: 'Decisions about matches',
    match_pattern: 'Patterns of titles',
    followed_source: 'Followed sources',
    suggestion: 'Suggestions',
    working_copy: 'Unsaved edits',
    audit_event: 'Audit log',
    person: 'Accounts',
    token: 'Names of tokens',
    openid_identity: 'Sign-in by OpenID',
    passkey: 'Passkeys',
    session: 'Sessions',
    video_body: 'Reasons of takedowns',
    webhook: 'Webhooks',
    webhook_delivery: 'Deliveries of webhooks',
  } as Readonly<Record<string, string>>,
  table: (name: string) => `Table ${name}`,
  // In the history of a talk.
  changedNote: 'A name was changed permanently. What it replaced is not shown.',
}

export type NameMessages = typeof namesEn
