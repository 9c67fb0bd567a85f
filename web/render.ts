import { type ComponentType, h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { prepareView, type View, ViewContext } from './view.ts'

/** A whole page: one of `pages`, with what it needs. */
export function renderPage<Data extends object>(
  page: ComponentType<Data>,
  data: Data,
  view: View,
): string {
  return `<!doctype html>${renderToString(h(ViewContext.Provider, { value: prepareView(view), children: h(page, data) }))}`
}
