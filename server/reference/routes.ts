import { problems } from '@talkshelf/contract'
import type { FastifyInstance } from 'fastify'
import { sendCompressed } from '../platform/http/compression.ts'
import { problemReferencePage, referencePage, referencePolicy } from './page.ts'

/** Mounts the API documentation: the reference at /api, and a page for each kind of problem. */
export function referenceRoutes(http: FastifyInstance, basePath: string, base: () => string): void {
  const page = (url: string, render: () => string) =>
    http.get(basePath + url, (request, reply) => {
      reply.headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': referencePolicy,
        'cache-control': 'public, max-age=300',
      })
      return sendCompressed(request, reply, render())
    })
  page('/api', () => referencePage(base()))
  for (const name of Object.keys(problems) as (keyof typeof problems)[])
    page(`/api/problems/${name}`, () => problemReferencePage(name, base()))
}
