import type { ReplacementFinder, SourceState, Verdict } from '@talkshelf/contract'

/** The texts of links in the desk: unhealthy sources, and copies that may replace them. */
export const linksEn = {
  title: 'Links',
  homeLink: 'See which videos are gone, and what their hosts say.',
  help:
    'The places where videos are, and whether they are still there. A video is marked as gone only ' +
    'after several checks on different days. Readers do not see what is only suspected.',
  off:
    'This server checks no links (CHECK_LINKS=off). If no other one does, states change only when ' +
    'you pin them.',
  done: {
    'check-requested':
      'The source is checked as soon as the rate limit for its host allows. Reload the page later.',
    'source-pinned': 'The state is pinned.',
    'pin-ended': 'The pin has ended. The source is checked within an hour.',
    'replacement-accepted':
      'The copy was accepted. A URL that it replaced can be reverted in the history of the talk; a ' +
      'copy that was added can be removed from its facts, with the API.',
    'replacement-refused': 'The copy was refused. It is not proposed for this talk again.',
    'replacement-impossible': 'Nothing was changed: the talk changed meanwhile.',
  } as Readonly<Record<string, string>>,
  states: {
    new: 'Not checked yet',
    ok: 'There',
    suspect: 'Suspect',
    unreachable: 'Host does not answer',
    'embed-off': 'Only at its host',
    region: 'Not in all countries',
    age: 'Only for adults',
    moved: 'Moved',
    gone: 'Gone',
    private: 'Private',
    removed: 'Removed',
    closed: 'Account closed',
  } as Readonly<Record<SourceState, string>>,
  verdicts: {
    ok: 'there',
    'embed-off': 'plays only at its host',
    region: 'not in all countries',
    age: 'only for adults',
    moved: 'at another URL',
    gone: 'gone',
    private: 'private',
    removed: 'removed',
    closed: 'account closed',
    odd: 'unclear answer',
    refused: 'host refused or failed',
  } as Readonly<Record<Verdict, string>>,
  since: (age: string) => `since ${age}`,

  // Hosts
  hosts: 'Hosts',
  host: 'Host',
  groups: {
    suspect: 'Suspect',
    unreachable: 'Unreachable',
    limited: 'Limited',
    away: 'Gone',
  },
  paused: (time: string) => `It refused, and is not asked before ${time}.`,
  pinHost: 'Decide for the whole host…',
  pinHostOf: (host: string) => `Decide for the whole host: ${host}`,
  pinHostHelp: (max: string) =>
    'For a host that is gone for good: pins all of its sources, also those that are not in the ' +
    `list. At most ${max} at once; repeat it for the others. Each change is in the history.`,
  pinAll: 'Pin all sources',
  endAllPins: 'End all pins of the host',
  pinned: (count: number, number: string, left: string) =>
    `${count === 1 ? '1 source was' : `${number} sources were`} changed. Left: ${left}.`,
  repeat: 'Send the form of the host again for those that are left.',

  // The list
  list: 'Sources',
  filter: 'Filter',
  state: 'State',
  allStates: 'All unhealthy sources',
  event: 'Event',
  unknownEvent: 'There is no event with this title.',
  none: 'No such sources. All is well, as far as is known.',
  ofTalk: 'Sources of one talk',
  showAll: 'Show all unhealthy sources',
  watch: 'Watch',
  evidence: 'What the host said',
  checks: 'Last checks',
  noChecks: 'Not checked yet',
  nextCheck: 'Next check',
  due: 'as soon as possible',
  talks: 'Talks',
  check: 'Check now',
  checkOf: (url: string) => `Check now: ${url}`,
  pin: 'Pin…',
  pinOf: (url: string) => `Pin the state: ${url}`,
  pinHelp: 'The state stays until the day has ended, whatever checks find.',
  until: 'Last day',
  untilError: 'Enter a day that is not in the past.',
  pinButton: 'Pin',
  pinnedUntil: (day: string) => `Pinned until ${day}`,
  endPin: 'End the pin',
  endPinOf: (url: string) => `End the pin: ${url}`,
  nextPage: 'Further sources',

  // The editor of a talk
  health: 'Where the video is',
  noSources: 'The talk has no video that could be checked.',
  checked: (age: string) => `checked ${age}`,
  manage: 'Check or pin these sources',

  // Replacements
  replacements: 'Copies of videos',
  replacementCount: (count: number, number: string) =>
    count === 1 ? '1 copy' : `${number} copies`,
  replacementsHelp:
    'Found for videos that are gone, or that are at one place only. Watch both before you decide.',
  finders: {
    'archive.org': 'found at archive.org',
    wayback: 'found in the Wayback Machine',
    import: 'from an import',
  } as Readonly<Record<ReplacementFinder, string>>,
  lost: 'Now',
  copy: 'Copy',
  effects: {
    replaces: 'Accepting it replaces the URL of the video.',
    adds: 'Accepting it adds the copy. The URL of the video stays.',
    nothing: 'The talk has this copy already.',
  },
  accept: 'Accept',
  acceptOf: (title: string) => `Accept the copy: ${title}`,
  notSaved: 'The decision was not saved:',
  refuse: 'Refuse',
  refuseOf: (title: string) => `Refuse the copy: ${title}`,
}

export type LinkMessages = typeof linksEn
