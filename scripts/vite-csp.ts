import { join } from 'node:path'
import type { Plugin } from 'vite'

// Vite plugins for a strict Content-Security-Policy. The elements of the player write <style> into
// their shadow roots, which the policy blocks. The build replaces them by elements that adopt a
// constructed style sheet. media-chrome later looks up its <style> elements to write rules into
// them, and finds these.

const packages =
  /\/node_modules\/(media-chrome|vimeo-video-element|hls-video-element|custom-media-element)\/.+\.js$/
const helperFile = join(import.meta.dirname, '../web/islands/shadow-styles.ts')

const replacements: readonly (readonly [RegExp, string])[] = [
  [/<(\/?)style(?=[\s>])/g, '<$1shadow-style'],
  [/"style:not\(\[media\]\)"/g, '"shadow-style:not([media])"'],
  // Elements inside then fill their own shadow roots. Browsers warn about the attribute, because
  // innerHTML does not use it.
  [/<template shadowrootmode=/g, '<template data-shadow='],
  [/this\.shadowRoot\.setHTMLUnsafe \? .+? : (?=this\.shadowRoot\.innerHTML = )/g, ''],
  [/this\.shadowRoot\.innerHTML = (.+);$/gm, 'fillShadow(this.shadowRoot, $1);'],
]
/** What would still need a <style>, or would not adopt the styles. */
const leftOver = /<style|["'`]style:|Element\(["'`]style|setHTMLUnsafe|shadowRoot\.innerHTML/

/** Replaces <style> in the player elements by constructed style sheets. */
export function shadowStyles(): Plugin {
  return {
    name: 'shadow-styles',
    transform: {
      filter: {
        id: packages,
        code: /<style|"style:|shadowRoot\.innerHTML|setHTMLUnsafe|shadowrootmode/,
      },
      handler(code, id) {
        const replaced = replacements.reduce((text, [from, to]) => text.replaceAll(from, to), code)
        const found = leftOver.exec(replaced)
        if (found) this.error(`${id} has ${found[0]}, which the plugin does not replace`)
        return {
          code: `import { fillShadow } from ${JSON.stringify(helperFile)}\n${replaced}`,
          map: null,
        }
      },
    },
  }
}

/**
 * Removes Vite's wrapper of import(), which preloads styles and modules. There are no styles to
 * load.
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
