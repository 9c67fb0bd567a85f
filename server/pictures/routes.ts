import { check, Id, Problem, type Video } from '@talkshelf/contract'
import type { FastifyInstance } from 'fastify'
import { anyone } from '../platform/actor.ts'
import { isUnchanged } from '../platform/http/conditional.ts'
import { inTime, isPlain, longestMs } from '../platform/http/mount.ts'
import { type Bodies, readVideo } from '../videos/videos.ts'
import { type Form, type Found, type Pictures, pictureVersion, widths } from './pictures.ts'

// By hand: the answer is an image and no JSON, and nobody has to say who is asking.

const forms = new Map<string, Form>([...widths, 'preview' as const].map((form) => [String(form), form]))

export function pictureRoutes(http: FastifyInstance, basePath: string, bodies: Bodies, pictures: Pictures): void {
  http.addHook('onClose', () => pictures.stop())

  http.get<{ Params: { id: string; form: string } }>(`${basePath}/picture/:id/:form`, async (request, reply) => {
    const form = forms.get(request.params.form)
    const id = /^[1-9]\d{0,15}$/.test(request.params.id) ? Number(request.params.id) : 0
    if (!form || !isPlain(request) || check(Id, id).length > 0) throw new Problem('not-found', 'There is no such address')
    const { body } = await inTime(performance.now() + longestMs, readVideo(bodies, anyone, id), 'not-applied')
    const record: Video = JSON.parse(body)
    const picture = await pictures.read(record, form)
    const etag = `"${picture.tag}"`
    reply.headers({ etag, 'cache-control': keeping(picture, request.query, record) })
    if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.header('content-type', picture.type).send(picture.data)
  })
}

function keeping({ isStandIn }: Found, query: unknown, record: Video): string {
  if (isStandIn) return 'public, max-age=300'
  // Another version in the address is a page that is older or newer than what this process knows: it must not be kept for ever.
  const isVersion = (query as { v?: unknown }).v === pictureVersion(record)
  return isVersion ? 'public, max-age=31536000, immutable' : 'public, max-age=3600'
}
