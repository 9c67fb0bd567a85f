import { join } from 'node:path'
import type { Plugin } from 'vite'

// Vite plugins for a strict Content-Security-Policy. The elements of the player write <style> into
// their shadow roots, which the policy blocks without a nonce, so the build adds the nonce of the
// page to them. Constructed style sheets are no alternative: media-chrome later looks up its
// <style> elements to write rules into them.

const packages =
  /\/node_modules\/(media-chrome|vimeo-video-element|hls-video-element|custom-media-element)\/.+\.js$/
const nonceFile = join(import.meta.dirname, '../web/islands/nonce.ts')

/** Adds the nonce of the page to the styles of the player elements. */
export function styleNonces(): Plugin {
  return {
    name: 'style-nonces',
    transform: {
      filter: { id: packages, code: '<style' },
      handler(code, id) {
        // The placeholder works in template strings only.
        if (/(["'])[^`\n]*<style[^`\n]*\1/.test(code))
          this.error(`${id} has a <style> outside of a template string`)
        const withNonces = code.replaceAll(/<style(?=[\s>])/g, `<style nonce="\${styleNonce}"`)
        return {
          code: `import { styleNonce } from ${JSON.stringify(nonceFile)}\n${withNonces}`,
          map: null,
        }
      },
    },
  }
}

/**
 * Removes Vite's wrapper of import(), which preloads styles and modules. There are no styles to
 * load, and the preload links would have no nonce.
 */
export function plainImports(): Plugin {
  return {
    name: 'plain-imports',
    enforce: 'pre',
    load: {
      filter: { id: /^\0vite\/preload-helper\.js$/ },
      handler: () => 'export const __vitePreload = (load) => load()',
    },
  }
}
