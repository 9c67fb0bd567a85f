/**
 * Returns the inline script of a page, which loads its module when the page is complete. The
 * content security policy allows it by its hash, so the URL is part of the text: with an attribute
 * in its place, injected HTML could use the same text to load another script.
 */
export function loaderScript(src: string): string {
  const url = JSON.stringify(src)
  return (
    `addEventListener("DOMContentLoaded",()=>{const s=document.createElement("script");` +
    `s.type="module";s.referrerPolicy="no-referrer";s.src=${url};document.head.append(s)});` +
    `{const l=document.createElement("link");l.rel="modulepreload";` +
    `l.referrerPolicy="no-referrer";l.href=${url};document.head.append(l)}`
  )
}
