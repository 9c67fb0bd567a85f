import sax from 'sax'

// Checks the SVG files of an operator. The archive serves them as they are, so nothing in them may
// run or load something.

export interface SvgCheck {
  /** What is wrong, in English. */
  readonly problems: readonly string[]
  readonly width: number
  readonly height: number
}

const maxDepth = 100
const forbiddenElements = new Set([
  ...['script', 'foreignobject', 'iframe', 'object', 'embed', 'audio', 'video', 'handler'],
  ...['animate', 'set', 'animatemotion', 'animatetransform', 'a', 'listener', 'html'],
])
/** Pictures and gradients inside of the file. */
const safeReference = /^(#|data:image\/(png|jpeg|webp);base64,)/i

/** Lists what is not allowed in an SVG, and returns its size. */
export function checkSvg(text: string): SvgCheck {
  const problems = new Set<string>()
  let depth = 0
  let root: Readonly<Record<string, string>> | undefined
  /** What a <style> has so far. */
  let style: string | undefined
  const parser = sax.parser(true, { trim: false })
  parser.onerror = (error) => {
    problems.add(`is not well-formed: ${error.message.split('\n', 1)[0]}`)
    throw error
  }
  parser.ondoctype = () => problems.add('has a document type: remove <!DOCTYPE ...>')
  parser.onprocessinginstruction = ({ name, body }) => {
    if (name !== 'xml') problems.add(`has a processing instruction: <?${name} ...?>`)
    // Browsers would decode it otherwise than this check does.
    else if (/encoding\s*=\s*["'](?!utf-8["'])/i.test(body)) problems.add('is not in UTF-8')
  }
  parser.onopentag = ({ name, attributes }) => {
    const element = localName(name)
    if (root === undefined) {
      root = attributes as Record<string, string>
      if (name !== 'svg' || root.xmlns !== 'http://www.w3.org/2000/svg')
        problems.add('does not start with <svg xmlns="http://www.w3.org/2000/svg">')
    }
    if (++depth > maxDepth) problems.add(`has more than ${maxDepth} nested elements`)
    if (forbiddenElements.has(element)) problems.add(`has a <${element}> element`)
    if (style !== undefined) problems.add('has an element in a <style>')
    if (element === 'style') style = ''
    for (const [attribute, value] of Object.entries(attributes as Record<string, string>)) {
      const key = localName(attribute)
      if (key.startsWith('on')) problems.add(`has an event handler: ${attribute}`)
      if ((key === 'href' || key === 'src') && !safeReference.test(value.trim()))
        problems.add(`refers to something outside of the file: ${value.trim().slice(0, 60)}`)
      if (attribute.startsWith('xmlns') && value.trim().toLowerCase().endsWith('/xhtml'))
        problems.add('has HTML in it')
      // Attributes with a prefix, such as file names of editors, are no styles.
      if (!attribute.includes(':') && loadsFromCss(value))
        problems.add(`loads something in ${attribute}`)
    }
  }
  parser.onclosetag = (name) => {
    depth--
    if (localName(name) !== 'style') return
    if (loadsFromCss(style ?? '')) problems.add('loads something in a <style>')
    style = undefined
  }
  // Browsers join the parts that comments and CDATA separate.
  const addText = (part: string) => {
    if (style !== undefined) style += part
  }
  parser.ontext = addText
  parser.oncdata = addText
  try {
    parser.write(text).close()
  } catch (error) {
    if (problems.size === 0) throw error
  }
  if (!root && problems.size === 0)
    problems.add('does not start with <svg xmlns="http://www.w3.org/2000/svg">')
  const size = root && sizeOf(root)
  if (root && !size) problems.add('has neither a viewBox nor a width and height in pixels')
  return { problems: [...problems], ...(size ?? { width: 1, height: 1 }) }
}

const localName = (name: string) => name.slice(name.indexOf(':') + 1).toLowerCase()

/** Tells whether CSS refers to anything but parts of the same file. An escape can hide a word. */
function loadsFromCss(css: string): boolean {
  return /@import|\\|image-set\(|url\(\s*(?!['"]?#)/i.test(css)
}

/** What is drawn with 72 dots per inch. */
const pixelsOfUnit: Readonly<Record<string, number>> = {
  px: 1,
  pt: 1,
  pc: 12,
  in: 72,
  cm: 72 / 2.54,
  mm: 72 / 25.4,
}

function pixelsOf(length = ''): number {
  const [, digits = 'NaN', unit = 'px'] = /^([\d.]+)(px|pt|pc|in|cm|mm)?$/.exec(length.trim()) ?? []
  return Number(digits) * (pixelsOfUnit[unit] ?? Number.NaN)
}

/** Returns the size in which an SVG is drawn: the one it asks for, else that of its view box. */
function sizeOf(root: Readonly<Record<string, string>>): { width: number; height: number } | null {
  const [, , boxWidth, boxHeight] = (root.viewBox ?? '')
    .trim()
    .split(/[\s,]+/)
    .map(Number)
  const sizes = [
    [pixelsOf(root.width), pixelsOf(root.height)],
    [boxWidth, boxHeight],
  ] as const
  for (const [width = 0, height = 0] of sizes)
    if (width > 0 && height > 0 && width < 100_000 && height < 100_000) return { width, height }
  return null
}
