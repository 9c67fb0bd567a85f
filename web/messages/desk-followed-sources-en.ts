import type { FollowedSource, fetchOutcomes } from '@talkshelf/contract'

/** The texts of followed sources in the desk. */
export const followedSourcesEn = {
  title: 'Followed sources',
  one: (id: number) => `Followed source ${id}`,
  link: 'Follow a playlist or schedule: it is fetched again, and what is new waits for you.',
  fromSource: 'from a followed source',
  help:
    'A followed source is a file on the web that is fetched on a schedule. What is new or ' +
    'changed becomes an import that waits in the desk. Nothing is applied without you.',
  off: 'Following is switched off on this server (FOLLOW_SOURCES=off). It fetches nothing.',
  none: 'No source is followed.',
  done: {
    'source-followed': 'You now follow this source. The first fetch starts in a moment.',
    'source-requested': 'The fetch starts within a minute. Reload the page to see the result.',
    'source-paused': 'The source is paused.',
    'source-resumed': 'The source is followed again. Its imports now have your name.',
    'source-deleted': 'The source is no longer followed.',
  } as Readonly<Record<string, string>>,
  states: {
    active: 'Active',
    failing: 'Failing',
    paused: 'Paused',
    disabled: 'Disabled',
  } as Readonly<Record<FollowedSource['state'], string>>,
  stateHelp: {
    active: 'It is fetched on its schedule.',
    failing: 'The last fetch failed. It is retried, each time after a longer wait, up to a week.',
    paused: 'It is not fetched until you resume it.',
    disabled: 'It failed too often and is no longer fetched. Correct the problem, then resume it.',
  } as Readonly<Record<FollowedSource['state'], string>>,
  outcomes: {
    planned: 'An import was planned',
    unchanged: 'Nothing new',
    waiting: 'Not fetched: its last import has decisions or is being applied. Finish it first',
    failed: 'Failed',
  } as Readonly<Record<(typeof fetchOutcomes)[number], string>>,
  every: (hours: string) => (hours === '1' ? 'every hour' : `every ${hours} hours`),
  lastFetch: 'Last fetch',
  nextFetch: 'Next fetch',
  never: 'Not fetched yet',
  failures: (count: number) => `Failures in a row: ${count}`,
  waitingImport: (id: number) => `Import ${id} waits for you`,
  create: 'Follow a source',
  url: 'URL',
  urlHelp:
    'A public http or https URL of a file that can be imported, such as the schedule of an event ' +
    'or the JSON of a playlist.',
  interval: 'Hours between two fetches',
  intervalHelp: (min: number, max: number) => `From ${min} to ${max}.`,
  name: 'Name of its imports',
  nameHelp: 'Default: the URL.',
  settings: 'Settings',
  settingsHelp:
    'If you change the URL or the options, the source is fetched again within minutes, and its ' +
    'imports have your name.',
  actions: 'Actions',
  fetchNow: 'Fetch now',
  fetchHelp:
    'Plans the file even if it has not changed, for example if you deleted its import by ' +
    'mistake. At the earliest a minute after the last fetch.',
  pause: 'Pause',
  resume: 'Resume',
  remove: 'Stop following',
  removeHelp: 'Its imports are kept, including those that wait for you.',
  errors: {
    url:
      'Enter a URL that starts with https:// or http://, on port 443 or 80, without a user ' +
      'name.',
    interval: 'Enter a whole number of hours.',
    tooMany: 'Too many sources are followed. Delete one that is not used.',
  },
}

export type FollowedSourceMessages = typeof followedSourcesEn
