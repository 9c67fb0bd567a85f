import { loaderScript } from '../loader.ts'

/**
 * Loads the script of the page. It is before the style sheets: an inline script waits for those
 * above it.
 */
export function Loader({ src }: { src: string }) {
  return <script dangerouslySetInnerHTML={{ __html: loaderScript(src) }} />
}
