// Runs inside a page, serialized by the browser driver: it cannot use anything outside of the
// function, so it is one long function.

/**
 * Returns everything in the document that our pages do not contain: elements, handlers, URLs with
 * other schemes and scripts that are not ours. `loader` is the inline script of the page.
 */
export function findForeignContent(loader: string): string[] {
  const problems: string[] = []
  const report = (problem: string, element: Element) =>
    problems.push(`${problem}: ${element.outerHTML.slice(0, 150)}`)
  const elementNames =
    'html head body title meta link script a abbr article aside bdi blockquote br button code dd del ' +
    'details div dl dt em fieldset figcaption figure footer form h1 h2 h3 header hr img input ' +
    'kbd label legend li main mark nav ol option p pre s search section select span strong summary ' +
    'svg path circle rect line text g table tbody td th thead time tr ul defs use polygon small'
  const known = new Set(elementNames.split(' '))
  const isPage = document.contentType === 'text/html'
  const urlAttributes = [
    'href',
    'src',
    'action',
    'formaction',
    'data',
    'poster',
    'xlink:href',
    'ping',
    'background',
    'cite',
    'srcset',
  ]
  const loadingAttributes = new Set([
    'src',
    'action',
    'formaction',
    'data',
    'poster',
    'srcset',
    'ping',
    'background',
  ])
  for (const element of document.querySelectorAll('*')) {
    // Elements of Chromium's own viewer for XML.
    if (
      element.closest('#webkit-xml-viewer-source-xml') === null &&
      document.getElementById('webkit-xml-viewer-source-xml')
    )
      continue
    // The colour of an event is set in a style element of the page.
    const isBanner =
      element.matches('head > style') &&
      /^\.banner\{--banner:#[\da-f]{6};--banner-ink:#[\da-f]{3}\}$/i.test(element.textContent ?? '')
    if (isPage && !known.has(element.localName) && !isBanner) report('foreign element', element)
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name)) report('event handler', element)
      if (isPage && name === 'style') report('inline style', element)
      if (name === 'srcdoc' || name === 'http-equiv') report(name, element)
      if (!urlAttributes.includes(name)) continue
      const first = name === 'srcset' ? (value.split(/\s/)[0] ?? '') : value
      const url = URL.canParse(first, document.baseURI)
        ? new URL(first, document.baseURI)
        : undefined
      if (url && !/^(https?|mailto):$/.test(url.protocol))
        report(`URL with the scheme ${url.protocol}`, element)
      const isLoaded =
        loadingAttributes.has(name) ||
        (element.localName === 'link' &&
          /stylesheet|icon|preload|manifest|prefetch|prerender/.test(
            element.getAttribute('rel') ?? '',
          ))
      if (isPage && isLoaded && url && url.origin !== location.origin)
        report('loads from another origin', element)
    }
    if (element.localName === 'script') {
      const { src, type, textContent } = element as HTMLScriptElement
      const isOurs =
        type === 'application/ld+json' ||
        (src === ''
          ? textContent === loader
          : new URL(src, location.href).pathname.includes('/assets/'))
      if (!isOurs) report('foreign script', element)
      if (type === 'application/ld+json')
        try {
          JSON.parse(element.textContent ?? '')
        } catch {
          report('invalid JSON-LD', element)
        }
    }
  }
  if (!isPage) return problems
  const comments = document.createNodeIterator(document, NodeFilter.SHOW_COMMENT)
  if (comments.nextNode()) problems.push('comment')
  // A payload that is not closed would swallow the rest of the page.
  const isWhole =
    document.querySelector('body > footer.site-footer:last-of-type, body.page-embed > main') !==
    null
  if (document.querySelector('link[href*="/assets/"]') && !isWhole)
    problems.push('the end of the page is missing')
  if (document.querySelectorAll('main').length > 1) problems.push('two main elements')
  return problems
}
