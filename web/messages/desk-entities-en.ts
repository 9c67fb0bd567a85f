import type { EntityPageKind } from '../paths.ts'

type ByKind = Readonly<Record<EntityPageKind, string>>

/** The texts of speakers, tags and events in the desk. */
export const entitiesEn = {
  titles: { speaker: 'Speakers', tag: 'Tags', category: 'Events' } as ByKind,
  homeLink: 'Rename, merge and split speakers, tags and events.',
  done: {
    merged: 'Merged.',
    unmerged: 'The merge was undone.',
    split: 'The talks were moved.',
  } as Readonly<Record<string, string>>,

  // Lists
  search: 'Search names',
  searchHelp: 'Part of a name or alias, or a similar name. Names of drafts are included.',
  sort: 'Sort by',
  sorts: { name: 'Name', use: 'Talks' },
  none: 'Nothing found.',
  talks: (formatted: string, count: number) =>
    count === 1 ? `${formatted} live talk` : `${formatted} live talks`,
  spellings: 'Similar spellings',
  spellingsHelp: 'Choose the one to keep. You see all talks that change before you merge.',
  keep: (name: string) => `Keep ${name}`,
  mergeGroup: 'Merge',
  mergeGroupInto: (names: string) => `Merge ${names}`,
  moreSpellings: 'More similar spellings',

  // Merge
  mergeTitle: (name: string) => `Merge into ${name}`,
  mergeHelp: (names: string, into: string) =>
    `${names} becomes ${into} in the talks below. ${into} gets all names and old addresses, and ` +
    'the details that it lacks. You can undo it.',
  mergeButton: (formatted: string, count: number) =>
    count === 1 ? `Merge and change ${formatted} talk` : `Merge and change ${formatted} talks`,
  mergeErrors: {
    unknown: 'There is no such name. Choose one of the list.',
    same: 'Choose another one: both are the same.',
  },
  mergeNothing: 'There is nothing left to merge. Go back to the list.',
  confirmLarge:
    'More than 100 talks change. Confirm that it is you first, if you signed in more than 10 ' +
    'minutes ago.',
  stale: 'It was changed meanwhile. Check the current state below and send it again.',
  affected: (formatted: string, count: number) =>
    count === 1 ? `${formatted} talk changes` : `${formatted} talks change`,
  affectedNone: 'No talk changes.',
  firstOf: (formatted: string) => `These are the first ${formatted}.`,
  takenDown: (id: number) => `Talk ${id}, which was taken down`,

  // Page of an entity
  public: 'Page in the archive',
  names: 'Names',
  name: 'Name',
  aliases: 'Other names',
  aliasesHelp: 'One name per line. Readers see them and find the talks by them.',
  hiddenNames: 'Hidden names',
  hiddenNamesHelp:
    'One name per line. They resolve to this one and are never shown: former names, misspellings.',
  oldSlugs: (slugs: string) => `Old addresses that redirect here: ${slugs}`,
  retiredSlugs: 'Retired addresses',
  retiredSlugsHelp: 'One per line. An old address in this list no longer redirects.',
  saveNames: 'Save names',
  renameTitle: (name: string, to: string) => `Rename ${name} to ${to}`,
  renameHelp:
    'The old name becomes a hidden name, and the old address redirects. The talks get a revision ' +
    'each.',
  renameButton: (formatted: string, count: number) =>
    count === 1 ? `Rename and change ${formatted} talk` : `Rename and change ${formatted} talks`,
  back: 'Back',
  merge: 'Merge into another one',
  mergeInto: 'Name or address of the one to keep',
  mergePreview: 'Show what changes',
  split: 'Split',
  splitHelp: 'Two people have the same name? Choose the talks of the other one.',
  splitTitle: (name: string) => `Split ${name}`,
  splitName: 'Name of the other speaker',
  splitNameHelp: 'A name that tells the two apart. An existing speaker gets the talks.',
  splitTalks: 'Talks of the other speaker',
  splitButton: 'Move the chosen talks',
  splitNoTalks: 'Choose at least one talk.',
  moreTalks: 'More talks',

  // Undo of a merge
  merges: 'Merged into this one',
  mergedBy: (by: string, time: string) => `Merged by ${by}, ${time}`,
  undo: 'Undo',
  undoMerge: (name: string) => `Undo the merge of ${name}`,
  cannotUndo: 'Merged by an earlier version: it cannot be undone.',
  undoHelp: (name: string, into: string) =>
    `${name} lives again with its names, addresses and details. The talks below get it back; ` +
    `${into} keeps all others.`,
  undoButton: (formatted: string, count: number) =>
    count === 1 ? `Undo and change ${formatted} talk` : `Undo and change ${formatted} talks`,
  kept: (formatted: string, count: number) =>
    count === 1
      ? `${formatted} talk was edited since and stays as it is`
      : `${formatted} talks were edited since and stay as they are`,

  // Profile
  profile: 'Profile',
  saveProfile: 'Save profile',
  profileFields: {
    description: 'Text (Markdown)',
    url: 'Website',
    start_date: 'First day',
    end_date: 'Last day',
    city: 'City',
    country: 'Country',
    online: 'One could take part online',
    series: 'Series',
    logo_url: 'URL of the logo',
    colour: 'Colour',
    pronouns: 'Pronouns',
    picture_url: 'URL of the picture',
    links: 'Links',
  },
  profileHelp: {
    country: 'Two letters, such as DE.',
    series: 'Such as PyCon US. Events with the same series belong together.',
    logo_url: 'An https URL. The server fetches it; readers never contact that site.',
    picture_url: 'An https URL. The server fetches it; readers never contact that site.',
    colour: 'Such as #336699.',
    links: (kinds: string) => `One per line: a kind and an https URL. Kinds: ${kinds}.`,
  },
}

export type EntityMessages = typeof entitiesEn
