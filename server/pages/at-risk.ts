import type { AtRiskReport } from '@talkshelf/contract'
import { pages, paths, renderPage } from '@talkshelf/web'
import { runInOwnTask } from '../platform/event-loop.ts'
import { pagePolicy } from '../platform/http/edge-policy.ts'
import type { PageRequest, PageResponse } from '../platform/http/pages.ts'
import type { RefreshedValue } from '../platform/ops/refreshed-value.ts'
import { buildView, type PageSite, pageHeaders } from './view.ts'

type Handler = (request: PageRequest) => Promise<PageResponse>

/**
 * Returns the handler of the page of what is at risk. Rendering takes longer than reading the
 * report, which stays the same for minutes: it is done once for each language and theme.
 */
export function atRiskPage(site: PageSite, report: RefreshedValue<AtRiskReport>): Handler {
  const rendered = new WeakMap<AtRiskReport, Map<string, string>>()

  return async (request) => {
    const data = await report.read()
    const view = buildView(site, request)
    const variants = rendered.get(data) ?? new Map<string, string>()
    rendered.set(data, variants)
    const variant = `${view.locale} ${view.theme}`
    // The page contains its address.
    const isPlain = view.address === paths.atRisk
    const body =
      (isPlain && variants.get(variant)) ||
      (await runInOwnTask(() => renderPage(pages.atRisk, data, view)))
    if (isPlain) variants.set(variant, body)
    return { body, headers: pageHeaders(view), edge: () => pagePolicy(body) }
  }
}
