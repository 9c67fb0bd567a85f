import type { Rule } from './rule.ts'
import { durationInMinutes } from './rules/duration-in-minutes.ts'
import { noDescription } from './rules/no-description.ts'
import { noDuration } from './rules/no-duration.ts'
import { noLicence } from './rules/no-licence.ts'
import { noSpeaker } from './rules/no-speaker.ts'
import { noThumbnail } from './rules/no-thumbnail.ts'
import { sameSource } from './rules/same-source.ts'
import { sameTalk } from './rules/same-talk.ts'
import { speakerSpellings } from './rules/speaker-spellings.ts'
import { tagSpellings } from './rules/tag-spellings.ts'

/** All rules, in the order of the list that editors see. */
export const rules: readonly Rule[] = [
  noSpeaker,
  noLicence,
  noDuration,
  durationInMinutes,
  noDescription,
  noThumbnail,
  speakerSpellings,
  tagSpellings,
  sameSource,
  sameTalk,
]
