import type { Talk } from '../../web/data.ts'

/** A talk with all details, for tests of pages. */
export const aTalk: Talk = {
  id: 17,
  slug: 'queues',
  title: 'Queues',
  speakers: [{ id: 3, slug: 'ada', name: 'Ada' }],
  category: { id: 2, slug: 'days', name: 'Days' },
  language: { name: 'Spanish', slug: 'spanish', code: 'es' },
  recorded: '2026-03-01',
  seconds: 3665,
  isLengthDoubtful: false,
  pictureVersion: 'v1',
  summary: 'About  queues',
  description: 'More about queues',
  tags: [{ id: 1, slug: 'queues', name: 'queues' }],
  qualityNotes: '',
  copyrightText: 'CC BY 4.0',
  sources: [
    {
      host: 'youtube',
      src: 'abcdefghijk',
      address: 'https://www.youtube.com/watch?v=abcdefghijk',
      label: 'YouTube',
    },
    {
      host: 'file',
      src: 'https://files.example.org/a.mp4',
      address: 'https://files.example.org/a.mp4',
      label: 'MP4',
    },
  ],
  elsewhere: [],
  lost: [],
  downloads: [],
  links: [],
  added: '2026-03-02T10:00:00.000Z',
  updated: '2026-03-03T10:00:00.000Z',
}
