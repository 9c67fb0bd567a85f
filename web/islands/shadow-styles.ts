// Styles of the player elements. The content security policy of the pages allows no <style> in
// their shadow roots, so the build replaces it by the element below: see scripts/vite-csp.ts.

/** Adopts its text as a style sheet of its shadow root. It has a `sheet` like a <style>. */
class ShadowStyle extends HTMLElement {
  static readonly observedAttributes = ['media']
  readonly sheet = new CSSStyleSheet()

  constructor() {
    super()
    this.sheet.replaceSync(this.textContent ?? '')
    const root = this.getRootNode()
    if (root instanceof ShadowRoot) root.adoptedStyleSheets.push(this.sheet)
    this.replaceChildren()
    this.hidden = true
  }

  attributeChangedCallback(_name: string, _old: string | null, media: string | null): void {
    this.sheet.media.mediaText = media ?? ''
  }
}

customElements.define('shadow-style', ShadowStyle)

/**
 * Sets the content of a shadow root, with its styles. The elements read their styles before they
 * are connected, so they are not left to be upgraded then.
 */
export function fillShadow(root: ShadowRoot, html: string): void {
  root.innerHTML = html
  for (const style of root.querySelectorAll('shadow-style')) customElements.upgrade(style)
}
