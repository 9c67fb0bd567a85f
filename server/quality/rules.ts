import { awayStates } from '@talkshelf/contract'
import { fixDate, fixMilliseconds, fixMinutes, fixThumbnail } from './fixes.ts'
import type { Rule } from './rule.ts'

/** All rules, in the order of the list that editors see. */
export const rules: readonly Rule[] = [
  {
    rule: 'no-speaker',
    title: 'No speaker',
    advice: 'Add the speakers. Look in the title, the description or the programme of the event.',
    finds: 'records',
  },
  {
    rule: 'no-licence',
    title: 'No licence',
    advice: 'Add the licence of the recording. The video host often shows it.',
    finds: 'records',
  },
  {
    rule: 'no-duration',
    title: 'No duration',
    advice: 'Add the length of the recording in seconds.',
    finds: 'records',
    shows: 'duration',
  },
  {
    rule: 'duration-in-minutes',
    title: 'A duration that looks like minutes',
    advice: 'Compare it with the recording. Durations are in seconds: multiply minutes by 60.',
    finds: 'records',
    shows: 'duration',
    fix: fixMinutes,
  },
  {
    rule: 'duration-too-long',
    title: 'A duration of more than six hours',
    advice:
      'Compare it with the recording. Durations are in seconds: divide milliseconds by 1,000. ' +
      'Sums leave these durations out.',
    finds: 'records',
    shows: 'duration',
    fix: fixMilliseconds,
  },
  {
    rule: 'no-date',
    title: 'No date',
    advice: 'Add the day of the recording. Look in the programme of the event.',
    finds: 'records',
    fix: fixDate,
  },
  {
    rule: 'no-description',
    title: 'No description',
    advice: 'Add a summary or a description, so that the talk can be found by what it is about.',
    finds: 'records',
  },
  {
    rule: 'no-thumbnail',
    title: 'No thumbnail',
    advice: 'Add the address of a small picture of the recording.',
    finds: 'records',
    fix: fixThumbnail,
  },
  {
    rule: 'speaker-spellings',
    title: 'Speakers in several spellings',
    advice:
      'If they are the same person, merge them: POST to /api/v2/speaker/{slug}/merge changes all ' +
      'records at once.',
    finds: 'spellings',
    of: 'speaker',
  },
  {
    rule: 'tag-spellings',
    title: 'Tags in several spellings',
    advice:
      'If they mean the same, merge them: POST to /api/v2/tag/{slug}/merge changes all records at ' +
      'once.',
    finds: 'spellings',
    of: 'tag',
  },
  {
    rule: 'same-source',
    title: 'The same source in several records',
    advice:
      'Keep one record for each talk. If these are different talks, correct their source URLs. If ' +
      'they are parts of one recording, add the fact `part` to each: PUT to ' +
      '/api/v2/video/{id}/facts.',
    finds: 'same',
    acrossCategories: false,
    separatesParts: true,
    shows: 'source_url',
  },
  {
    rule: 'same-talk',
    title: 'The same title and speakers at several events',
    advice:
      'Look whether the talk was given several times, or one record is in the wrong category.',
    finds: 'same',
    acrossCategories: true,
    separatesParts: false,
    shows: 'title',
  },
  {
    rule: 'source-away',
    title: 'The video is gone',
    advice:
      'Look for another copy and correct the URL. If you know that the video is there, pin its ' +
      'state: PATCH /api/v2/source/{id}.',
    finds: 'sources',
    states: awayStates,
  },
  {
    rule: 'source-suspect',
    title: 'The video may be gone',
    advice:
      'The last check was bad. Wait for the next ones, or look yourself and pin the state of the ' +
      'source. Readers do not see it yet.',
    finds: 'sources',
    states: ['suspect'],
  },
  {
    rule: 'one-host',
    title: 'The video is at one host only',
    advice:
      'If this host closes, the talk is lost. Add another copy as the fact `media`: PUT to ' +
      '/api/v2/video/{id}/facts. Drafts are left out.',
    finds: 'single-operator',
  },
  {
    rule: 'replacement-open',
    title: 'A copy waits for a decision',
    advice:
      'Watch both, and accept or refuse the copy: POST to /api/v2/replacement/{id}/accept or ' +
      '/refuse. The first page of the desk lists them.',
    finds: 'replacements',
  },
]
