// A small conference: the schedule of six talks, and the playlist of its recordings.

export interface Talk {
  readonly guid: string
  readonly title: string
  readonly speakers: readonly string[]
  readonly time: string
}

export const talks: readonly Talk[] = [
  { guid: 'a', title: 'Gardens of data', speakers: ['Ada Lovelace'], time: '09:00' },
  { guid: 'b', title: 'Rivers without banks', speakers: ['Grace Hopper'], time: '10:00' },
  { guid: 'c', title: 'Compilers for poets', speakers: ['Annie Easley'], time: '11:00' },
  { guid: 'd', title: 'What lighthouses know', speakers: ['Mary Keller'], time: '13:00' },
  { guid: 'e', title: 'Maps of silence', speakers: ['Hedy Lamarr'], time: '14:00' },
  { guid: 'f', title: 'An evening of small tools', speakers: ['Jean Bartik'], time: '15:00' },
]

export interface Video {
  readonly id: string
  readonly title: string
  readonly seconds?: number
  readonly description?: string
}

export const videos: readonly Video[] = [
  { id: 'vvvvvvvvvv1', title: 'Ada Lovelace: Gardens of data | River Days' },
  { id: 'vvvvvvvvvv2', title: 'Grace Hopper: Rivers without banks | River Days' },
  { id: 'vvvvvvvvvv3', title: 'Annie Easley: Compilers for poets | River Days' },
  { id: 'vvvvvvvvvv4', title: 'Mary Keller: What lighthouses know | River Days' },
  { id: 'vvvvvvvvvv5', title: 'Hedy Lamarr: On quiet cartography | River Days' },
  { id: 'vvvvvvvvvv6', title: 'River Days 2031: the trailer' },
]

export const event = 'River Days 2031'

/** Writes a schedule in the format of frab and pretalx. */
export function scheduleJson(entries: readonly Talk[] = talks): string {
  const events = entries.map(({ guid, title, speakers, time }) => ({
    guid,
    title,
    date: `2031-05-17T${time}:00+02:00`,
    start: time,
    duration: '00:30',
    room: 'Hall',
    language: 'en',
    abstract: `About ${title}.`,
    persons: speakers.map((name) => ({ public_name: name })),
  }))
  const days = [{ date: '2031-05-17', rooms: { Hall: events } }]
  return JSON.stringify({
    schedule: { conference: { title: event, acronym: 'rd31', days } },
  })
}

/** Writes a playlist as yt-dlp does. */
export function playlistJson(entries: readonly Video[] = videos): string {
  return JSON.stringify({
    _type: 'playlist',
    id: 'PL1',
    title: event,
    entries: entries.map(({ id, title, seconds = 1700, description = '' }) => ({
      _type: 'url',
      ie_key: 'Youtube',
      id,
      url: `https://www.youtube.com/watch?v=${id}`,
      title,
      duration: seconds,
      description,
    })),
  })
}
