import type { MatchInput, Recording, ScheduledTalk } from '../../server/matching/matching.ts'

// An invented event: its schedule, and its playlist as people publish them. The recording of a talk
// has the same letter.

const talk = (
  key: string,
  title: string,
  speakers: string,
  start: string,
  minutes = 30,
): ScheduledTalk => ({
  key,
  title,
  speakers: speakers === '' ? [] : speakers.split(', '),
  start: `2026-05-${start}`,
  room: 'Hall',
  minutes,
})

const recording = (key: string, title: string, minutes = 30): Recording => ({
  key,
  title,
  seconds: 60 * minutes,
})

export const riverDaysTalks: readonly ScheduledTalk[] = [
  talk('a', 'Opening', 'Ana Ribeiro', '01T09:00', 15),
  talk('b', 'Measuring water levels with cheap sensors', 'Łukasz Kowalski', '01T09:30'),
  talk('c', 'Why dams fail: a history in seven maps', 'Björk Ørsted', '01T10:00'),
  talk('d', 'Reading sediment (Part 1)', 'Chen Wei', '01T11:00'),
  talk('e', 'Reading sediment (Part 2)', 'Chen Wei', '01T11:30'),
  talk('f', '川の流れを測る', '山田 太郎', '01T13:00'),
  talk('g', 'Lightning talks', '', '01T16:00', 60),
  talk('h', 'Otters, beavers and the return of the floodplain', 'Dana Lund', '02T09:30'),
  talk('i', 'From the spring to the sea in C++', 'Eli Stone, Fay Moreau', '02T10:00'),
  talk('j', 'Forecasting floods from open data', 'Gita Rao', '02T11:00'),
  talk('k', 'A keynote without a title yet', 'Hugo Brandt', '02T13:00', 45),
  talk('l', 'Closing', 'Ana Ribeiro', '02T17:00', 15),
]

export const riverDaysRecordings: readonly Recording[] = [
  recording('A', 'Ana Ribeiro - Opening | River Days 2026', 14),
  recording(
    'B',
    'Lukasz Kowalski - Measuring water levels with cheap sensors | River Days 2026',
    31,
  ),
  recording('C', 'Bjork Orsted - Why dams fail | River Days 2026'),
  recording('D', 'Chen Wei - Reading sediment (Part 1) | River Days 2026'),
  recording('E', 'Chen Wei - Reading sediment (Part 2) | River Days 2026'),
  recording('F', '山田 太郎 - 川の流れを測る | River Days 2026'),
  recording('H', 'Dana Lund - Otters, beavers and the retrun of the floodplain | River Days 2026'),
  recording('I', 'Eli Stone, Fay Moreau - From the spring to the sea in C++ | River Days 2026'),
  recording('J', 'Gita Rao - Forecasting floods from open da... | River Days 2026', 29),
  recording('K', 'Hugo Brandt - What a river remembers | River Days 2026', 44),
  recording('L', 'Ana Ribeiro - Closing | River Days 2026', 16),
  recording('X', 'Gita Rao - Forecasting droughts | River Days 2024', 33),
  recording('Y', 'Iris Novak - An interview about eels | River Days 2026', 9),
]

export const riverDays: MatchInput = {
  event: 'River Days 2026',
  talks: riverDaysTalks,
  recordings: riverDaysRecordings,
}
