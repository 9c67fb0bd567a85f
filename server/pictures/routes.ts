import { Problem, type Video } from '@talkshelf/contract'
import { pictureWidths } from '@talkshelf/web'
import type { FastifyInstance } from 'fastify'
import { anyone } from '../platform/actor.ts'
import { isUnchanged } from '../platform/http/conditional.ts'
import { idIn, type MountPage } from '../platform/http/pages.ts'
import { costs } from '../platform/http/rate-limit.ts'
import { type Bodies, readVideo } from '../videos/videos.ts'
import { type Form, type Found, type Pictures, pictureVersion } from './pictures.ts'

const forms = new Map<string, Form>([...pictureWidths, 'preview' as const].map((form) => [String(form), form]))

export function pictureRoutes(http: FastifyInstance, mountPage: MountPage, bodies: Bodies, pictures: Pictures): void {
  http.addHook('onClose', () => pictures.stop())

  mountPage(
    '/picture/:id/:form',
    async ({ params, query, address, headers: asked }) => {
      const form = forms.get(params.form ?? '')
      const id = idIn(params.id)
      // One picture has one address, for caches.
      const isPlain = !/^[^?]*%/.test(address)
      if (!form || !isPlain || id === undefined) throw new Problem('not-found', 'There is no such address')
      const { body } = await readVideo(bodies, anyone, id)
      const record: Video = JSON.parse(body)
      const picture = await pictures.read(record, form)
      const etag = `"${picture.tag}"`
      const headers = { etag, 'cache-control': keeping(picture, query.v, record), 'content-type': picture.type }
      return isUnchanged(asked['if-none-match'], etag) ? { status: 304, headers } : { body: picture.data, headers }
    },
    // It has limits of its own, and what it answers when they are over is a cover.
    { cost: costs.read, limitMs: 20_000 },
  )
}

function keeping({ isStandIn }: Found, version: string | undefined, record: Video): string {
  if (isStandIn) return 'public, max-age=300'
  // Another version in the address is a page that is older or newer than what this process knows: it must not be kept for ever.
  return version === pictureVersion(record) ? 'public, max-age=31536000, immutable' : 'public, max-age=3600'
}
