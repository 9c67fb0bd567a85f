import assert from 'node:assert/strict'
import { playlistJson, scheduleJson } from '../support/conference.ts'
import { assertAccessible } from './axe.ts'
import type { WatchedPage } from './environment.ts'
import type { DeskSteps } from './sign-in.ts'
import { overflowing } from './sizes.ts'

// A conference of 30 talks, from the schedule and the playlist to published pages.

const firstNames = [
  'Ada',
  'Grace',
  'Annie',
  'Mary',
  'Hedy',
  'Jean',
  'Karen',
  'Radia',
  'Joan',
  'Edith',
]
const lastNames = ['Lind', 'Okafor', 'Duarte']
const subjects = [
  'gardens',
  'rivers',
  'compilers',
  'lighthouses',
  'maps',
  'kettles',
  'bridges',
  'ferns',
  'clocks',
  'drums',
]
const manners = ['Growing', 'Counting', 'Repairing']

/** Talks with different titles and speakers. */
const talks = Array.from({ length: 30 }, (_, index) => ({
  guid: `talk-${index}`,
  title: `${manners[Math.floor(index / 10)]} ${subjects[index % 10]} in the ${index + 1}th hour`,
  speakers: [`${firstNames[index % 10]} ${lastNames[Math.floor(index / 10)]}`],
  time: `${String(8 + Math.floor(index / 3)).padStart(2, '0')}:${20 * (index % 3) || '00'}`,
}))

/** The last talk was not recorded, and three recordings have other titles. */
const videos = talks.slice(0, 29).map(({ title, speakers: [speaker] }, index) => ({
  id: `vvvvvvvv${String(index).padStart(3, '0')}`,
  title: index % 10 === 4 ? `${speaker}: On stage` : `${speaker}: ${title}`,
}))

async function startMatch({ page, open }: WatchedPage): Promise<void> {
  await open('/desk/match')
  const choose = (label: string, name: string, text: string) =>
    page
      .getByLabel(label, { exact: true })
      .setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) })
  await choose('Schedule', 'schedule.json', scheduleJson(talks))
  await choose('Playlist', 'playlist.json', playlistJson(videos))
  await page.getByRole('button', { name: 'Match', exact: true }).click()
  await page.getByRole('heading', { name: 'Match: River Days 2031' }).waitFor()
}

/** Tests matches: a conference with and without scripts, and wrong input. */
export async function matchTests({ test, inDesk, signIn }: DeskSteps): Promise<void> {
  await test('desk: a conference of 30 talks, from two files to published pages by keys', () =>
    inDesk(
      async (watched) => {
        const { page, open } = watched
        await signIn(watched, 'Maude Matcher', 'editor')
        const startMs = performance.now()
        await startMatch(watched)
        await page.getByRole('heading', { name: '3 questions' }).waitFor()
        await assertAccessible(page, 'a match with questions')
        assert.deepEqual(await overflowing(page), [])
        await page.setViewportSize({ width: 320, height: 700 })
        assert.deepEqual(await overflowing(page), [])
        await page.setViewportSize({ width: 1200, height: 800 })
        // One key answers a question; another takes it back.
        const press = async (key: string, left: string) => {
          // The script moves the focus to the first question.
          await page.locator('[data-question] input:focus').waitFor()
          await page.keyboard.press(key)
          await page.getByRole('heading', { name: left }).waitFor()
        }
        await press('1', '2 questions')
        await press('u', '3 questions')
        await press('1', '2 questions')
        await press('Enter', '1 question')
        await press('1', 'No questions are left.')
        await page.getByRole('button', { name: 'Plan the import' }).click()
        await page.waitForURL(/\/desk\/import\/\d+$/)
        await page.getByRole('button', { name: 'Apply', exact: true }).click()
        await page.getByText('30 created').waitFor()
        const { origin } = new URL(page.url())
        const published = await page.request.get(`${origin}/api/v2/video?category=river-days-2031`)
        const { count, results } = await published.json()
        assert.equal(count, 29)
        await open(`/video/${results[0].id}/${results[0].slug}`)
        await page.getByRole('heading', { name: results[0].title }).waitFor()
        const seconds = Math.round((performance.now() - startMs) / 1000)
        console.log(`  30 talks took ${seconds} s and 3 questions from two files to their pages`)

        // The second time, nothing is asked.
        await startMatch(watched)
        await page.getByRole('heading', { name: 'No questions are left.' }).waitFor()
      },
      { reducedMotion: 'reduce' },
    ))
  await test('desk: decides about talks and recordings without scripts', () =>
    inDesk(
      async (watched) => {
        const { page, open } = watched
        await signIn(watched, 'Paul Plain', 'editor')
        await open('/desk/match')
        await page.getByRole('button', { name: 'Match', exact: true }).click()
        assert.equal(await page.getByText('Choose a file or enter a URL.').count(), 2)
        await startMatch(watched)
        const last = page.getByRole('listitem').filter({ hasText: talks[29]?.title ?? '' })
        await last.getByRole('combobox', { name: /^Why/ }).selectOption('not-recorded')
        await last.getByRole('button', { name: 'Save' }).click()
        await page.getByText('The decision was saved.').waitFor()
        assert.equal(
          await last.getByRole('combobox', { name: /^Why/ }).inputValue(),
          'not-recorded',
        )
        const first = talks[0]?.title ?? ''
        // They are shown if the test before has answered all questions.
        const pairs = page.locator('details', { hasText: 'Pairs (' })
        if ((await pairs.getAttribute('open')) === null) await pairs.locator('summary').click()
        await page.getByRole('button', { name: `Not this recording: ${first}` }).click()
        await page.getByText('Recordings without a talk (1)').waitFor()
        await page.getByRole('button', { name: 'Make a draft of it' }).click()
        await page.getByText('becomes a draft').waitFor()
        for (const _ of ['draft', 'refused pair', 'status']) {
          await page.getByRole('button', { name: 'Undo the last decision' }).click()
          await page.getByText('The last decision was undone.').waitFor()
        }
        await page.getByRole('button', { name: 'Delete this match' }).click()
        await page.getByText('The match was deleted.').waitFor()
      },
      { javaScriptEnabled: false },
    ))
}
