import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEvent, splitTitles } from './title-pattern.ts'

const event = 'River Days 2026'

test('splits "Speaker - Title | Event"', () => {
  assert.deepEqual(
    splitTitles(
      [
        'Ann Other - Watching rivers with asyncio | River Days 2026',
        'Bob van der Second - Maps - and how to fold them | River Days 2026',
        'Zoë Third & José Ñandú - Which gauges lie? | River Days 2026',
        'Opening | River Days 2026',
        'Keynote: Cy Fourth - Floods | River Days 2026',
        'Lightning talk: Dee Fifth - Mud - a love story | River Days 2026',
      ],
      event,
    ),
    [
      { title: 'Watching rivers with asyncio', speakers: ['Ann Other'] },
      { title: 'Maps - and how to fold them', speakers: ['Bob van der Second'] },
      { title: 'Which gauges lie?', speakers: ['Zoë Third', 'José Ñandú'] },
      { title: 'Opening', speakers: [] },
      { title: 'Keynote: Floods', speakers: ['Cy Fourth'] },
      { title: 'Lightning talk: Mud - a love story', speakers: ['Dee Fifth'] },
    ],
  )
})

test('finds the event in the titles if the title of the playlist has it, too', () => {
  const titles = ['Ann - One | River Days 2026', 'Bob - Two | river days 2026', 'Hello', 'X | Y']
  const more = [...titles, 'Cy - Three | River Days 2026', 'Dee - Four | River Days 2026']
  assert.equal(findEvent(more, 'River Days 2026 - All talks'), 'River Days 2026')
  assert.equal(findEvent(more, 'All talks'), undefined)
  assert.equal(findEvent(titles, 'River Days 2026 - All talks'), undefined, 'half of the titles')
  assert.equal(findEvent(more.slice(0, 2), 'River Days 2026'), undefined, 'two titles')
})

test('splits "Title - Speaker" and "Title | Speaker | Event"', () => {
  assert.deepEqual(
    splitTitles(['How rivers flow – Ann Other', 'Tides in 2026 - Bob Second', 'Why - Cy Li'], ''),
    [
      { title: 'How rivers flow', speakers: ['Ann Other'] },
      { title: 'Tides in 2026', speakers: ['Bob Second'] },
      { title: 'Why', speakers: ['Cy Li'] },
    ],
  )
  assert.deepEqual(
    splitTitles(
      [
        'How rivers flow | Ann Other | RD26',
        'A map | Bob Second | RD26',
        'Why? | 池内 孝啓 | RD26',
      ],
      event,
    )?.map(({ title, speakers }) => [title, ...speakers]),
    [
      ['How rivers flow', 'Ann Other'],
      ['A map', 'Bob Second'],
      ['Why?', '池内 孝啓'],
    ],
  )
})

test('removes an event from the titles even without speakers', () => {
  assert.deepEqual(
    splitTitles(['One thing | River Days 2026', 'Two | River Days 2026', 'Three'], event),
    [
      { title: 'One thing', speakers: [] },
      { title: 'Two', speakers: [] },
      { title: 'Three', speakers: [] },
    ],
  )
})

test('leaves titles alone without a pattern that fits most of them', () => {
  for (const titles of [
    [],
    ['Ann Other - Rivers'],
    ['Rivers', 'Maps', 'Gauges', 'Ann Other - Tides'],
    ['Clean Code - Part One', 'Clean Code - Part Two', 'Clean Code - Part Three'],
    ['Ann Other - Bob Second', 'Cy Third - Di Fourth', 'Ed Fifth - Flo Sixth'],
    ['a - b', 'c - d', 'e - f'],
  ])
    assert.deepEqual(splitTitles(titles, event), undefined, titles[0])
})

test('leaves titles alone that are too long for a record', () => {
  const long = `Ann Other - ${'rivers '.repeat(40)}| River Days 2026`
  const titles = ['Ann Other - Tides', 'Bob Second - Maps', 'Cy Third - Weirs', long]
  assert.deepEqual(splitTitles(titles, event)?.at(-1), { title: long, speakers: [] })
})
