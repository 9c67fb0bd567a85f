import type { CategoryProfile, SpeakerProfile } from '@talkshelf/contract'

// Profiles with a value in every field, and those without any.

export const eventProfile: CategoryProfile = {
  city: 'Łódź',
  country: 'PL',
  online: true,
  series: 'Bridge Days',
  logo_url: 'https://media.example.org/logo.png?size=2&v=1',
  colour: '#1A2b3c',
  links: [
    { kind: 'mastodon', url: 'https://social.example.org/@bridges' },
    { kind: 'other', url: 'https://example.org/%F0%9F%A6%8A' },
  ],
}

export const personProfile: SpeakerProfile = {
  description: 'Builds *bridges*.\r\n\tAnd <b>tunnels</b> 🧑‍🚀',
  pronouns: 'ze/hir',
  picture_url: 'http://media.example.org/ze.jpg',
  links: [{ kind: 'website', url: 'https://ze.example.org/' }],
}

export const emptyEventProfile: CategoryProfile = {
  city: null,
  country: null,
  online: false,
  series: null,
  logo_url: null,
  colour: null,
  links: [],
}

export const emptyPersonProfile: SpeakerProfile = {
  description: '',
  pronouns: null,
  picture_url: null,
  links: [],
}
