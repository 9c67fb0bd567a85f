// Draws the results of bench/edge.ts, on a white background so that the plot is readable on a dark
// page too.

export interface Point {
  /** Requests a second of all readers. */
  readonly readsPerS: number
  /** Requests a second that reach the origin from the edge caches. */
  readonly direct: number
  /** The same if one more cache, the shield, is between the edge caches and the origin. */
  readonly shielded: number
}

interface Line {
  readonly name: string
  readonly colour: string
  readonly dash?: string
  readonly value: (point: Point) => number
}

const size = { width: 1000, height: 500 }
const panel = { top: 70, width: 380, height: 340 }
// Distinct for people with colour blindness, and in grey.
const colours = { readers: '#555555', direct: '#c2410c', shielded: '#1d4ed8' }

/** Draws two panels as SVG: requests a second, and the bytes of their responses. */
export function plot(points: readonly Point[], responseBytes: number): string {
  const lines: Line[] = [
    { name: 'readers', colour: colours.readers, dash: '6 4', value: (point) => point.readsPerS },
    { name: 'origin', colour: colours.direct, value: (point) => point.direct },
    { name: 'origin behind a shield', colour: colours.shielded, value: (point) => point.shielded },
  ]
  const byteLines = lines.map((line) => ({
    ...line,
    value: (point: Point) => line.value(point) * responseBytes,
  }))
  const byteNames = ['edge to readers', 'origin to edge', 'origin to shield']
  const namedByteLines = byteLines.map((line, i) => ({ ...line, name: byteNames[i] as string }))
  const { width, height } = size
  const box = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${box} role="img"
  font-family="system-ui, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="14" fill="#222222">
<title>Load of the origin behind an edge cache, from 10 to 1,000,000 requests a second</title>
<rect width="100%" height="100%" fill="#ffffff"/>
${drawPanel(80, 'Requests a second', (value) => formatShort(value, ''), points, lines)}
${drawPanel(580, 'Bytes a second', (value) => formatShort(value, 'B'), points, namedByteLines)}
<text x="${width / 2}" y="${height - 14}" text-anchor="middle" font-size="12" fill="#555555">
Simulated by bench/edge.ts: Zipf readers, LRU caches, purges by changes. Both axes are logarithmic.
</text>
</svg>
`
}

function drawPanel(
  left: number,
  title: string,
  label: (value: number) => string,
  points: readonly Point[],
  lines: readonly Line[],
): string {
  const all = points.flatMap((point) => lines.map(({ value }) => value(point)))
  const x = scale(
    points.map((point) => point.readsPerS),
    left,
    panel.width,
  )
  const y = scale(all, panel.top + panel.height, -panel.height)
  const right = left + panel.width
  const bottom = panel.top + panel.height
  const horizontalGrid = y.ticks.map((value) => {
    const height = y.at(value)
    return `<line x1="${left}" x2="${right}" y1="${height}" y2="${height}" stroke="#dddddd"/>
<text x="${left - 8}" y="${height + 5}" text-anchor="end">${label(value)}</text>`
  })
  const verticalGrid = x.ticks.map((value) => {
    const middle = x.at(value)
    return `<line x1="${middle}" x2="${middle}" y1="${panel.top}" y2="${bottom}" stroke="#dddddd"/>
<text x="${middle}" y="${bottom + 20}" text-anchor="middle">${formatShort(value, '')}</text>`
  })
  const stroke = ({ colour, dash }: Line) =>
    `stroke="${colour}" stroke-width="2"${dash ? ` stroke-dasharray="${dash}"` : ''}`
  const drawn = lines.map((line) => {
    const { colour, dash, value } = line
    const at = points.map((point) => [x.at(point.readsPerS), y.at(value(point))] as const)
    const dots = dash
      ? ''
      : at.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3.5" fill="${colour}"/>`).join('')
    const corners = at.map((pair) => pair.join(',')).join(' ')
    return `<polyline points="${corners}" fill="none" ${stroke(line)}/>${dots}`
  })
  const legend = lines.map((line, i) => {
    const height = bottom - 70 + i * 22
    const ends = `x1="${right - 208}" x2="${right - 178}" y1="${height}" y2="${height}"`
    return `<line ${ends} ${stroke(line)}/>
<text x="${right - 168}" y="${height + 5}">${line.name}</text>`
  })
  const boxHeight = lines.length * 22 + 8
  const box = `x="${right - 220}" y="${bottom - 86}" width="212" height="${boxHeight}"`
  const center = left + panel.width / 2
  return `<text x="${left}" y="${panel.top - 24}" font-size="17" font-weight="600">${title}</text>
${[...horizontalGrid, ...verticalGrid, ...drawn].join('\n')}
<rect ${box} fill="#ffffff" stroke="#dddddd"/>
${legend.join('\n')}
<text x="${center}" y="${bottom + 46}" text-anchor="middle">readers’ requests a second</text>`
}

/** Returns a logarithmic scale whose ends are powers of ten. */
function scale(values: readonly number[], start: number, length: number) {
  // A simulation without misses has zeros; they are drawn at the bottom.
  const positive = values.filter((value) => value > 0)
  const low = Math.floor(Math.log10(Math.min(...positive)))
  const high = Math.max(Math.ceil(Math.log10(Math.max(...positive))), low + 1)
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
  const at = (value: number) =>
    Math.round(10 * (start + (length * (Math.max(Math.log10(value), low) - low)) / (high - low))) /
    10
  return { ticks, at }
}

const prefixes = [
  ['G', 1e9],
  ['M', 1e6],
  ['k', 1e3],
] as const

function formatShort(value: number, unit: string): string {
  const [letter, size] = prefixes.find(([, size]) => value >= size) ?? ['', 1]
  return `${value / size} ${letter}${unit}`.trim()
}
