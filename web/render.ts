import { type ComponentType, h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { prepareView, type View, ViewContext } from './view.ts'

/** Renders one of `pages` as a complete HTML document. */
export function renderPage<Data extends object>(
  page: ComponentType<Data>,
  data: Data,
  view: View,
): string {
  const root = h(ViewContext.Provider, { value: prepareView(view), children: h(page, data) })
  return `<!doctype html>${renderToString(root)}`
}
