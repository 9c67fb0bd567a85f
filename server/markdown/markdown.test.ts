import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMarkdown } from './markdown.ts'

const slow = '[a][\n'.repeat(20_000)

/** Counts the turns of the event loop until the work is done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let timer: NodeJS.Immediate
  const tick = () => {
    turns++
    timer = setImmediate(tick)
  }
  timer = setImmediate(tick)
  await work()
  clearImmediate(timer)
  return turns
}

test('rendering does not block the event loop', async () => {
  const markdown = openMarkdown()
  const texts = Array.from({ length: 5 }, (_, index) => `${index}${slow}`)
  const turns = await turnsDuring(() => Promise.all(texts.map(markdown.render)))
  // Five texts of three parts each.
  assert.ok(turns >= 15, `${turns} turns`)
})

test('a short text does not wait for the end of long ones', async () => {
  const markdown = openMarkdown()
  const order: string[] = []
  await Promise.all([
    markdown.render(slow).then(() => order.push('long')),
    markdown.render('# Hello').then((html) => order.push(html)),
  ])
  assert.deepEqual(order, ['<h3>Hello</h3>\n', 'long'])
})

test('a text is rendered once, and the cache has a limit', async () => {
  const markdown = openMarkdown(300_000)
  const cost = (text: string) =>
    turnsDuring(() => Promise.all([markdown.render(text), markdown.render(text)]))
  const turns = await cost(slow)
  assert.ok(turns >= 3 && turns < 6, `${turns}`)
  assert.equal(await cost(slow), 0)
  await cost(`other ${slow}`)
  assert.equal(await cost(slow), turns)
})

test('concurrent and later calls return the same HTML', async () => {
  const markdown = openMarkdown()
  const text = `${slow}the end`
  const [first, second] = await Promise.all([markdown.render(text), markdown.render(text)])
  assert.match(first, /the end<[/]p>\n$/)
  assert.deepEqual([second === first, (await markdown.render(text)) === first], [true, true])
})

test('renderStart renders the first part', async () => {
  const markdown = openMarkdown()
  assert.deepEqual(await markdown.renderStart('*a*'), {
    html: '<p><em>a</em></p>\n',
    isWhole: true,
  })
  const { html, isWhole } = await markdown.renderStart('word '.repeat(2000))
  assert.ok(!isWhole && html.length < 5100)
})

test('if too many texts are waiting, further ones are not formatted until later', async () => {
  const markdown = openMarkdown()
  const waiting = Array.from({ length: 50 }, (_, index) => markdown.render(`*${index}*`))
  assert.equal(await markdown.render('*late*'), '<p>*late*</p>\n')
  assert.equal((await Promise.all(waiting)).at(-1), '<p><em>49</em></p>\n')
  assert.equal(await markdown.render('*late*'), '<p><em>late</em></p>\n')
})
