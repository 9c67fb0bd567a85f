import { join } from 'node:path'
import type { Plugin } from 'vite'

// The elements of the player write <style> into their shadow roots, and a page that lets no inline
// styles in would show them bare. So each of these gets the nonce of the page while it is built
// into our scripts. Style sheets of another kind will not do: media-chrome looks up its <style>
// elements later on, to write rules into them.

const packages =
  /\/node_modules\/(media-chrome|youtube-video-element|vimeo-video-element|hls-video-element|custom-media-element)\/.+\.js$/
const nonceFile = join(import.meta.dirname, '../web/islands/nonce.ts')

export function styleNonces(): Plugin {
  return {
    name: 'style-nonces',
    transform: {
      filter: { id: packages, code: '<style' },
      handler(code, id) {
        // All of them stand in template strings. In any other the mark would stay as it is, and the
        // style be refused.
        if (/(["'])[^`\n]*<style[^`\n]*\1/.test(code))
          this.error(`${id} has a style that is not in a template string`)
        const marked = code.replaceAll(/<style(?=[\s>])/g, `<style nonce="\${styleNonce}"`)
        return {
          code: `import { styleNonce } from ${JSON.stringify(nonceFile)}\n${marked}`,
          map: null,
        }
      },
    },
  }
}

/**
 * Vite wraps each import() to load styles and further files before it. Ours have no styles, and
 * further files would have no nonce.
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
