import { awayStates } from '@talkshelf/contract'
import { identify, look, type ProbeResult, witness } from '../../../server/links/probes/probes.ts'
import { isAllowedBy, parseRobots } from '../../../server/links/robots.ts'
import type { ProbeAnswer, ProbeRequest } from '../../../server/platform/net/probe.ts'
import { assertProperty, decodeInput, type FuzzTarget, inputWords, textLines } from '../target.ts'

const sources = textLines(`
  https://www.youtube.com/watch?v=exampleAAA1
  https://vimeo.com/123456
  https://tube.example.org/w/8ac2f8c8-0b0b-4f1e-9d0e-0123456789ab
  https://media.ccc.de/v/a-talk
  https://archive.org/download/item/a.mp4
  https://files.example.org/a.mp4
  https://example.org/talk
`)
const statuses = [200, 206, 301, 304, 400, 401, 403, 404, 410, 429, 451, 500, 503, 999]
const types = ['application/json', 'text/html; charset=utf-8', 'video/mp4', '']
/** With these, a host can say that a video is away. With 200 only some kinds can. */
const awayStatuses = [200, 400, 401, 403, 404, 410, 451]

const head = (kind: number, status: number) => `${kind}${statuses.indexOf(status).toString(16)}0\n`
const bodies = textLines(`
  {"title":"A talk","author_url":"https://www.youtube.com/@a","type":"video","duration":60}
  {"uuid":"a","name":"A talk","duration":60,"account":{"name":"a","host":"b"},"state":{"id":1}}
  {"guid":"a","title":"A talk","conference_url":"https://a.example/b","recordings":[{}]}
  {"files":[{"name":"a.mp4"}],"metadata":{"title":"A","uploader":"a"},"is_dark":true}
  {"code":"does_not_respect_follow_constraints","originUrl":"https://other.example.org/w/a"}
`)

export const linkTargets: readonly FuzzTarget[] = [
  {
    name: 'robots.txt',
    seeds: [
      'User-agent: *\nDisallow: /a*b$\nAllow: /a%2Ab\n\nUser-agent: Talkshelf/1.0\nDisallow: /\n',
      '# x\r\nuser-agent:talkshelf\rDISALLOW : /ä?b=*c # y\n',
    ],
    dictionary: inputWords('User-agent: Talkshelf * $ Allow: Disallow: / %2A %24 %e3 # ? /*a*b'),
    run(input) {
      const text = decodeInput(input)
      const robots = parseRobots(text)
      assertProperty(/^[ -~]*$/.test(JSON.stringify(robots)), 'rules that are no ASCII')
      const path = `/${text.slice(0, 300)}`
      const { allow, disallow } = robots
      assertProperty(
        isAllowedBy({ allow, disallow: [] }, path),
        'a path that nothing forbids is not allowed',
      )
      assertProperty(isAllowedBy({ allow: disallow, disallow }, path), 'a tie is not allowed')
    },
  },
  {
    name: 'answers of hosts',
    seeds: bodies.flatMap((body) =>
      sources.flatMap((_, kind) => [200, 404].map((status) => head(kind, status) + body)),
    ),
    dictionary: [
      ...inputWords('{ } [ ] " , : null true \\u0000 \\ud83d "title" "uuid" "files" "state" "id"'),
      ...inputWords(
        '"is_dark" "metadata" Forbidden <html> https:// "originUrl" 1e999 -1 00\n 4a0\n',
      ),
    ],
    async run(input) {
      const text = decodeInput(input)
      const line = text.indexOf('\n')
      const [kind = '', status = '', type = ''] = text.slice(0, Math.max(0, line))
      const source = identify(sources[Number.parseInt(kind, 36) % sources.length] ?? '')
      if (!source) return
      const ask = async ({ url }: ProbeRequest): Promise<ProbeAnswer> => ({
        status: statuses[Number.parseInt(status, 36) % statuses.length] ?? 200,
        headers: { 'content-type': types[Number.parseInt(type, 36) % types.length] ?? '' },
        finalUrl: url,
        redirects: [],
        body: text.slice(line + 1),
        isCut: input.length % 2 === 1,
      })
      const { status: answered } = await ask({ url: source.url })
      for (const probe of [look, witness]) checkResult(await probe(ask, source), answered)
    },
  },
]

function checkResult(result: ProbeResult, status: number): void {
  const { verdict, evidence, owner = '', title = '', movedTo } = result
  assertProperty(/^[ -~]{5,200}$/.test(evidence), 'evidence with text of the host')
  assertProperty(
    !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(owner + title) && `${owner}${title}`.isWellFormed(),
    'control characters',
  )
  assertProperty([...owner].length <= 200 && [...title].length <= 500, 'a text that is too long')
  if (movedTo !== undefined)
    assertProperty(/^https?:$/.test(new URL(movedTo).protocol), 'a target with another scheme')
  if ((awayStates as readonly string[]).includes(verdict))
    assertProperty(awayStatuses.includes(status), 'an error took a video away', { status })
}
