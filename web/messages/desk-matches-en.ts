import type { matchBands, RecordingStatus } from '@talkshelf/contract'

/** The texts of matches in the desk. */
export const matchesEn = {
  title: 'Match',
  done: {
    'match-decided': 'The decision was saved.',
    'match-undone': 'The last decision was undone.',
    'match-discarded': 'The match was deleted. Your decisions are kept.',
  } as Readonly<Record<string, string>>,

  // The form
  start: 'Match a schedule with a playlist',
  startHelp:
    'Talks come from the schedule, recordings from the playlist. You decide what is not sure, ' +
    'then you see a plan. No talk changes before you apply it.',
  schedule: 'Schedule',
  scheduleHelp: 'A schedule.xml or schedule.json of frab or pretalx, a CSV table, or another file.',
  playlist: 'Playlist',
  playlistHelp: 'The JSON of yt-dlp: yt-dlp --flat-playlist -J URL > playlist.json',
  scheduleUrl: 'URL of the schedule, instead of a file',
  playlistUrl: 'URL of the playlist file, instead of a file',
  event: 'Event',
  eventHelp: 'The title of the event. Leave it empty to take that of the schedule.',
  button: 'Match',
  errors: {
    missing: 'Choose a file or enter a URL.',
    both: 'Choose a file or enter a URL, not both.',
    'too-large': 'The files are too large. Use URLs, or "talkshelf match".',
    damaged: 'The upload is damaged. Choose the files again.',
    again: 'Choose the files again: a browser does not keep them.',
  } as Readonly<Record<string, string>>,

  // The list
  list: 'Recent matches',
  none: 'No matches yet.',
  files: 'Files',

  // The page
  pageTitle: (event: string) => `Match: ${event}`,
  summary: (talks: number, recordings: number) => `${talks} talks, ${recordings} recordings.`,
  sureCount: (count: number) => (count === 1 ? '1 pair is sure.' : `${count} pairs are sure.`),
  pattern: 'Titles of the playlist are read as',
  questions: (count: number) => (count === 1 ? '1 question' : `${count} questions`),
  noQuestions: 'No questions are left.',
  keys: 'Keys: 1 2 3 choose, Enter takes the chosen one, n none of these, j k move, u undo.',
  bands: {
    sure: 'sure',
    likely: 'likely',
    unsure: 'unsure',
    none: 'no recording',
  } as Readonly<Record<(typeof matchBands)[number], string>>,
  share: (percent: string) => `${percent} of such pairs are right`,
  decided: 'decided',
  minutes: (count: number) => `${count} min`,
  found: (names: string) => `found: ${names}`,
  against: {
    'other-year': 'another year',
    'other-part': 'another part number',
    'generic-title': 'a title that several talks can have',
    'other-speaker': 'names another speaker',
    'several-talks': 'contains several talks',
    'name-only': 'only the name is the same',
  } as Readonly<Record<string, string>>,
  noneOfThese: 'None of these',
  byHand: 'Pair by hand',
  talk: 'Talk without a recording',
  recording: 'Recording without a talk',
  pairButton: 'Pair',
  choose: 'Choose …',
  save: 'Save',
  saveNext: 'Save and go on',
  settled: (count: number) => `Pairs (${count})`,
  notThisOne: 'Not this recording',
  notThisOneOf: (title: string) => `Not this recording: ${title}`,
  copies: 'Another recording of it',
  isCopy: 'It is a copy',
  withoutRecording: (count: number) => `Talks without a recording (${count})`,
  withoutRecordingHelp: 'They become drafts that only the schedule of the event shows.',
  statuses: {
    expected: 'The recording is expected',
    'not-recorded': 'It was not recorded',
    'not-published': 'The recording is not published',
    'opted-out': 'The speakers did not want a recording',
  } as Readonly<Record<RecordingStatus, string>>,
  status: 'Why',
  withoutTalk: (count: number) => `Recordings without a talk (${count})`,
  leftOut: (count: number) => `Left out of the files (${count})`,
  withoutTalkHelp: 'They are left out, unless you make talks of them.',
  ownTalk: 'Make a draft of it',
  leaveOut: 'Leave it out',
  isOwnTalk: 'becomes a draft',
  isLeftOut: 'left out',
  parts: 'It seems to contain these talks',
  partStart: 'Start',
  partEnd: 'End',
  partTime: 'h:mm:ss',
  divide: 'Divide it',
  partError: 'A time is not valid: write it as 1:02:03, and the end after the start.',
  chooseError: 'Choose a recording first.',
  staleError: 'This talk or recording is not in the match. Reload the page.',
  undo: 'Undo the last decision',
  plan: 'Plan the import',
  planHelp: (open: number) =>
    open === 0
      ? 'You see the plan first, and can undo it after you applied it.'
      : `Talks with an open question (${open}) are planned without a recording.`,
  lastPlan: (id: number) => `Last plan: import ${id}`,
  discard: 'Delete this match',
}
export type MatchMessages = typeof matchesEn
