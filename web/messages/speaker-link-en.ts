/** The texts of the page of a speaker who has a link. */
export const speakerLinkEn = {
  title: (name: string) => `Your talks, ${name}`,
  help:
    'An editor of this archive sent you this link. Only people who have the link see this page. ' +
    'Nothing changes before an editor has checked it.',
  talks: 'Your talks',
  noTalks: 'There is no talk of yours in this archive.',
  confirm: 'The chosen talks are right',
  confirmed: (day: string) => `You confirmed it on ${day}.`,
  correct: (title: string) => `Correct ${title}`,
  correctLink: 'Correct',
  correctTitle: (title: string) => `Correct: ${title}`,
  comment: 'Something else',
  send: 'Send',
  back: 'Back to your talks',
  removeTalk: 'Please remove this talk',
  removeWhy: 'Why',
  profile: 'Your profile',
  noProfile: 'Your profile is empty.',
  profileWords: 'What should it say?',
  name: 'Your name has changed',
  nameHelp:
    'An editor can remove your former name from all talks, texts and from the history. Write both ' +
    'names. What you write here is deleted when it is done.',
  nameWords: 'Former and new name',
  removal: 'Removal',
  removalHelp: 'You want to have more removed than a single talk? Tell us what.',
  removalWords: 'What should be removed, and why',
  done: {
    confirmed: 'Thank you. The talks are marked as confirmed.',
    changed:
      'Some talks have changed since you opened this page, so they are not marked as confirmed. ' +
      'Look at them again.',
    sent: 'Thank you. An editor will look at it.',
    empty: 'You changed nothing. Correct a field or write something.',
    full: 'Too many of your requests wait for an editor. Try again later.',
  } as Readonly<Record<string, string>>,
}

export type SpeakerLinkMessages = typeof speakerLinkEn
