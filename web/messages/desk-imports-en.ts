import type { importStates, importVerdicts, WarningCode } from '@talkshelf/contract'

/** The texts of imports in the desk. */
export const importsEn = {
  title: 'Imports',
  homeLink: 'Import talks from a file or URL, review the plan and apply it.',
  done: {
    decided: 'The decision was saved.',
    'decided-all': 'The conflicts were decided.',
    answered: 'Questions were answered. Repeat it if some are left that it can answer.',
    'answered-none': 'No question was answered: those that are open need a decision each.',
    discarded: 'The import was deleted. It had changed nothing.',
  } as Readonly<Record<string, string>>,

  // The form
  start: 'New import',
  startHelp: 'You see a plan first. No talk changes before you apply it.',
  file: 'File',
  fileHelp: (megabytes: string) =>
    `At most ${megabytes} MB, also as .gz. For larger files, use a URL or "talkshelf import".`,
  url: 'URL, instead of a file',
  urlHelp: 'A public http or https URL. The server downloads the file.',
  format: 'Format',
  formatDetected: 'Detect from the content',
  formats: {
    csv: 'CSV table',
    'yt-dlp': 'Playlist (yt-dlp JSON)',
    schedule: 'Conference schedule (frab, pretalx)',
    pyvideo: 'PyVideo data',
    voctoweb: 'media.ccc.de (voctoweb)',
    v2: 'Talkshelf export, v2 records',
  } as Readonly<Record<string, string>>,
  event: 'Event',
  eventHelp: 'For talks that have none in the file.',
  newEvent: 'This is a new event',
  language: 'Language',
  languageHelp: 'Of talks that have none in the file: English name or code, such as German or de.',
  draft: 'Create new talks as drafts',
  moreOptions: 'More options',
  recorded: 'Day of the recording',
  recordedHelp: 'For talks that have none in the file. Replaces the day of upload.',
  source: 'Source',
  sourceHelp:
    'A later import with the same source finds the same talks. Default: the format; for CSV, “csv” ' +
    'and the file name.',
  keepTitles: 'Do not look for speakers in the titles of a playlist',
  planButton: 'Show the plan',
  errors: {
    missing: 'Choose a file, or enter a URL.',
    both: 'Choose a file or enter a URL, but not both.',
    empty: 'The file is empty. Choose another one.',
    damaged: 'The upload was damaged or incomplete. Nothing was imported. Send the form again.',
    format:
      'The format of the file was not recognised. If it is one of the formats below, choose it ' +
      'there. Otherwise convert the file to CSV.',
    tooLarge: (megabytes: string) =>
      `The file is too large: a form takes at most ${megabytes} MB. Compress it with gzip, put it ` +
      'on a web server and enter its URL, or use the command "talkshelf import".',
    event: (title: string, similar: string) =>
      `There is no event “${title}”. Similar ones: ${similar}. Correct the title, or tick “This is ` +
      'a new event”.',
    chooseAgain: 'Browsers forget the file: choose it again.',
  },

  // The list
  list: 'All imports',
  none: 'No imports yet.',
  talks: 'Talks',
  state: 'State',
  by: 'By',
  started: 'Started',
  older: 'Older imports',
  talkCount: (count: number) => (count === 1 ? '1 talk' : `${count} talks`),

  // An import
  import: (id: number) => `Import ${id}`,
  unknownFormat: 'unknown',
  states: {
    reading: 'Being read',
    failed: 'Failed',
    planned: 'Planned',
    applying: 'Being applied',
    stopped: 'Stopped',
    applied: 'Applied',
    undoing: 'Being undone',
    undone: 'Undone',
  } as Readonly<Record<(typeof importStates)[number], string>>,
  stateHelp: {
    reading: 'The file is still being read. The plan appears here.',
    failed: 'Nothing was changed. Correct the problem and import the file again.',
    planned: 'Nothing has changed yet. Check the plan, then apply it.',
    applying: 'You can close this page: the import continues.',
    stopped: 'Continue, or undo what was written.',
    applied: 'All talks were processed. You can undo the import.',
    undoing: 'You can close this page: the undo continues.',
    undone: 'The import was undone. You can apply it again.',
  } as Readonly<Record<(typeof importStates)[number], string>>,
  allRefused:
    'All talks are refused, so nothing can be applied. Correct the file, import it again.',
  progress: (done: number, total: number) => `${done} of ${total} talks`,
  readSoFar: (count: number) => `${count} talks read so far`,
  verdicts: {
    conflict: 'Conflicts',
    refused: 'Refused',
    changed: 'Changed',
    new: 'New',
    unchanged: 'Unchanged',
  } as Readonly<Record<(typeof importVerdicts)[number], string>>,
  verdictHelp: {
    conflict:
      'The file and the archive have different values. Without a decision, the values of the ' +
      'archive are kept.',
    refused:
      'These talks are skipped. Correct the rows in the file, or download them as a table, correct ' +
      'them there and import that table with the same source.',
    changed: 'These talks are updated.',
    new: 'These talks are created.',
    unchanged: 'These talks are already up to date.',
  } as Readonly<Record<(typeof importVerdicts)[number], string>>,
  views: 'Talks of the plan',
  warningsView: 'Warnings',
  warningsHelp: 'These values are implausible, but are imported as they are.',
  keptView: 'Kept by the undo',
  keptHelp:
    'These talks changed after the import, so the undo kept them. If a later import changed them, ' +
    'undo that one first, then this one again. To hide a talk that was edited by hand, change it ' +
    'to a draft.',
  noTalks: 'No talks.',
  downloadRefused: 'Download the refused rows (CSV)',
  refusedCut: (rows: string) =>
    `This table has ${rows} rows: as many as one file can have. There are more.`,
  nextRefused: 'Next part',
  outcomes: {
    created: 'created',
    changed: 'changed',
    unchanged: 'unchanged',
    kept: 'kept as in the archive',
    refused: 'refused',
    undone: 'undone',
    touched: 'not undone: changed since',
  } as Readonly<Record<string, string>>,
  results: 'Result',
  undoResult: 'Undo',
  createsTitle: 'Names that the import creates',
  creates: { categories: 'New events', speakers: 'New speakers', tags: 'New tags' },
  andMore: (count: number) => `and ${count} more`,
  warnings: {
    'missing-date': 'without a date',
    'guessed-date': 'dated by the year in a title only',
    'future-date': 'dated in the future',
    'old-date': 'dated before 1900',
    'long-duration': 'longer than six hours',
    'short-duration': 'shorter than a minute',
    'several-names': 'with several people in one name',
    'similar-name': 'with a person whose name is spelled differently elsewhere',
  } as Readonly<Record<WarningCode, string>>,
  /** Warnings about one talk, by code. The server has the English texts. */
  noteWarnings: {} as Readonly<Record<string, string>>,
  /** Translations by the code of the error. The server has the English texts. */
  byCode: {} as Readonly<Record<string, string>>,
  ignoredCells: (count: number) =>
    `${count} empty cells are ignored: the values of the archive stay. To clear a field, empty its ` +
    'cell in a table that was exported from here, with its columns id and updated.',

  // Rows
  talk: 'Talk',
  changes: 'Changes',
  here: 'Archive',
  inFile: 'File',
  emptyValue: '(empty)',
  untitled: '(no title)',
  record: (id: number) => `Record ${id}`,
  facts: (count: string) => `${count} facts`,
  noSpeakers: 'no speakers',
  noDate: 'no date',
  next: 'Next talks',
  first: 'First talks',
  fields: {
    title: 'Title',
    category: 'Event',
    speakers: 'Speakers',
    tags: 'Tags',
    language: 'Language',
    recorded: 'Recorded',
    summary: 'Summary',
    description: 'Description',
    duration: 'Duration',
    source_url: 'URL of the video',
    thumbnail_url: 'Picture',
    copyright_text: 'Licence',
    embed: 'Player',
    state: 'State',
    facts: 'Facts',
    quality_notes: 'Known problems',
    whiteboard: 'Notes of the editors',
  } as Readonly<Record<string, string>>,
  noteKinds: {
    refused: 'Refused',
    question: 'Question',
    warning: 'Warning',
    dropped: 'Dropped',
    guessed: 'Guessed',
    repaired: 'Repaired',
  } as Readonly<Record<string, string>>,

  // Decisions
  undecided: (count: number) =>
    count === 1 ? '1 conflict has no decision yet.' : `${count} conflicts have no decision yet.`,
  keepOurs: 'Keep ours',
  takeTheirs: 'Take theirs',
  fromImport: 'written by an earlier import',
  acceptMatches: (count: number) =>
    count === 1 ? 'Answer 1 question: the same talk' : `Answer ${count} questions: the same talk`,
  sameTalk: 'The same talk',
  otherTalk: 'Another talk: create it',
  saveDecision: 'Save decision',
  isRecord: 'This talk is already in the archive',
  recordId: 'Number of its record',
  recordHelp: 'The number in the URL of its page. Empty: as planned.',
  decideAll: 'Decide all conflicts',
  decideField: 'Field',
  allFields: 'All fields',
  keepAllOurs: 'Keep ours everywhere',
  takeAllTheirs: 'Take theirs everywhere',
  keys: 'Keys: j and k move between conflicts, 1 keeps ours, 2 takes theirs.',

  // Actions
  actions: 'Actions',
  apply: 'Apply',
  continue: 'Continue',
  stop: 'Stop',
  undo: 'Undo',
  undoAgain: 'Undo the rest',
  redo: 'Apply again',
  discard: 'Delete this import',
  needsAdmin: 'This import takes talks down. Only an administrator can apply it.',
  wrongState:
    'That is no longer possible: the import has changed meanwhile. This is its state now.',
}

export type ImportMessages = typeof importsEn
