// Runs inside the page: is anything there that no page of ours has? It must not use anything from
// outside of itself.

/** `nonce` is that of the answer. */
export function foreignIn(nonce: string): string[] {
  const wrong: string[] = []
  const say = (what: string, it: Element) => wrong.push(`${what}: ${it.outerHTML.slice(0, 150)}`)
  const ours =
    'html head body title meta link script a abbr article aside blockquote br button code dd del details div dl dt em fieldset figcaption ' +
    'figure footer form h1 h2 h3 header hr img input kbd label legend li main mark nav ol option p pre s search section select span strong ' +
    'summary svg path circle rect line text g table tbody td th thead time tr ul defs use polygon small'
  const known = new Set(ours.split(' '))
  const isPage = document.contentType === 'text/html'
  const addresses = [
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
  const loading = new Set([
    'src',
    'action',
    'formaction',
    'data',
    'poster',
    'srcset',
    'ping',
    'background',
  ])
  for (const it of document.querySelectorAll('*')) {
    // Chromium's own view of a document that is no page.
    if (
      it.closest('#webkit-xml-viewer-source-xml') === null &&
      document.getElementById('webkit-xml-viewer-source-xml')
    )
      continue
    if (isPage && !known.has(it.localName)) say('an element that is not ours', it)
    for (const { name, value } of it.attributes) {
      if (/^on/i.test(name)) say('a handler', it)
      if (isPage && name === 'style') say('a style', it)
      if (name === 'srcdoc' || name === 'http-equiv') say(name, it)
      if (!addresses.includes(name)) continue
      const first = name === 'srcset' ? (value.split(/\s/)[0] ?? '') : value
      const url = URL.canParse(first, document.baseURI)
        ? new URL(first, document.baseURI)
        : undefined
      if (url && !/^(https?|mailto):$/.test(url.protocol))
        say(`an address that runs (${url.protocol})`, it)
      const isLoaded =
        loading.has(name) ||
        (it.localName === 'link' &&
          /stylesheet|icon|preload|manifest|prefetch|prerender/.test(it.getAttribute('rel') ?? ''))
      if (isPage && isLoaded && url && url.origin !== location.origin)
        say('something of others is loaded', it)
    }
    if (it.localName === 'script') {
      const { nonce: own, src, type } = it as HTMLScriptElement
      const isOurs =
        (own ?? '') === nonce &&
        nonce !== '' &&
        (type === 'application/ld+json' ||
          new URL(src, location.href).pathname.includes('/assets/'))
      if (!isOurs) say('a script that is not ours', it)
      if (type === 'application/ld+json')
        try {
          JSON.parse(it.textContent ?? '')
        } catch {
          say('JSON-LD that is none', it)
        }
    }
  }
  if (!isPage) return wrong
  const comments = document.createNodeIterator(document, NodeFilter.SHOW_COMMENT)
  if (comments.nextNode()) wrong.push('a comment')
  // Left open, a payload would swallow what comes behind it.
  const isWhole =
    document.querySelector('body > footer.site-footer:last-of-type, body.page-embed > main') !==
    null
  if (document.querySelector('link[href*="/assets/"]') && !isWhole)
    wrong.push('the end of the page is missing')
  if (document.querySelectorAll('main').length > 1) wrong.push('two main parts')
  return wrong
}
