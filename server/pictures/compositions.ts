import { mixColours, type Palette } from './palettes.ts'
import type { SeededRandom } from './seeded-random.ts'

// The drawings of covers, 640 by 360 units. The text is below `horizon`, where a drawing may only
// use colours close to the ground colour.

export interface CoverCanvas {
  readonly random: SeededRandom
  readonly palette: Palette
  readonly horizon: number
}

export const coverWidth = 640
export const coverHeight = 360

/** Rounds a coordinate, for short paths. */
const n = Math.round
const point = (x: number, y: number) => `${n(x)} ${n(y)}`
const fill = (colour: string, path: string) =>
  path === '' ? '' : `<path fill="${colour}" d="${path}"/>`
const ground = ({ palette, horizon }: CoverCanvas) =>
  fill(palette.ground, `M0 ${n(horizon)}h640V360H0z`)
const circle = (x: number, y: number, r: number, colour: string | undefined) =>
  `<circle cx="${n(x)}" cy="${n(y)}" r="${n(r)}" fill="${colour}"/>`
const background = (colour: string) => fill(colour, 'M0 0h640v360H0z')
const disc = (x: number, y: number, r: number) => {
  const halfCircle = `a${point(r, r)} 0 1 0`
  return `M${point(x - r, y)}${halfCircle} ${2 * n(r)} 0${halfCircle} ${-2 * n(r)} 0z`
}

/** Hills behind hills. */
function bands({ random, palette, horizon }: CoverCanvas): string {
  const count = 5
  const sun = palette.accents[0]
  const sky = mixColours(palette.ground, palette.accents[3], 0.35)
  const tones = [
    palette.accents[1],
    palette.accents[2],
    palette.accents[3],
    mixColours(palette.accents[3], palette.ground, 0.55),
    palette.ground,
  ]
  const radius = random.between(0.22, 0.34) * horizon
  let svg =
    background(sky) +
    fill(sun, disc(random.between(90, 550), horizon * random.between(0.3, 0.45), radius))
  for (let index = 0; index < count; index++) {
    const y = horizon * (0.42 + (0.5 * index) / (count - 1))
    const swing = horizon * (index === count - 1 ? 0.05 : random.between(0.1, 0.2))
    const [a, b, c, d] = [0, 1, 2, 3].map((corner) =>
      n(y + (corner % 2 === index % 2 ? -1 : 1) * swing * random.between(0.4, 1)),
    ) as [number, number, number, number]
    const middle = n(random.between(250, 390))
    const left = `C${n(middle / 3)} ${b} ${n((middle * 2) / 3)} ${b} ${middle} ${n((b + c) / 2)}`
    const right = `S${n(middle + (640 - middle) * 0.6)} ${d} 640 ${c}`
    svg += fill(tones[index] as string, `M0 ${a}${left}${right}V360H0z`)
  }
  return svg
}

/** Rings behind the text, and others at the top. */
function arcs(canvas: CoverCanvas): string {
  const { random, palette, horizon } = canvas
  const isLeft = random.next() < 0.5
  const x = isLeft ? random.between(110, 240) : random.between(400, 530)
  const colours = random.shuffled(palette.accents)
  const sky = mixColours(palette.ground, palette.accents[3], 0.16)
  const rings = (cx: number, cy: number, limit: number, count: number, from: number) =>
    Array.from({ length: count }, (_, index) => {
      const colour = index % 2 === 1 ? sky : colours[(from + index / 2) % 4]
      return circle(cx, cy, limit * (1 - index / count), colour)
    }).join('')
  const small = rings(
    x + (isLeft ? 1 : -1) * random.between(230, 300),
    0,
    horizon * random.between(0.62, 0.8),
    5,
    2,
  )
  return (
    background(sky) +
    small +
    rings(x, horizon, horizon * random.between(1.05, 1.3), 7, 0) +
    ground(canvas)
  )
}

/** A frieze of quarter circles, discs and triangles. */
function tiles(canvas: CoverCanvas): string {
  const { random, palette, horizon } = canvas
  const rows = horizon > 150 ? 3 : 2
  const side = Math.floor(horizon / rows)
  const columns = Math.ceil(coverWidth / side)
  const paths: string[] = ['', '', '', '']
  const s = side
  const forms = [
    `h${s}a${s} ${s} 0 0 1-${s} ${s}z`,
    `v${s}h${s}a${s} ${s} 0 0 0-${s}-${s}z`,
    `m${s} 0v${s}h-${s}a${s} ${s} 0 0 1 ${s}-${s}z`,
    `h${s}v${s}a${s} ${s} 0 0 1-${s}-${s}z`,
    `h${s}v${s}z`,
    `v${s}h${s}z`,
    `a${s / 2} ${s / 2} 0 0 0 ${s} 0z`,
    `m0 ${s}a${s / 2} ${s / 2} 0 0 1 ${s} 0z`,
    `m0 ${s / 2}a${s / 2} ${s / 2} 0 1 0 ${s} 0a${s / 2} ${s / 2} 0 1 0-${s} 0z`,
  ]
  // More than three forms do not look like a pattern.
  const chosen = random.shuffled(forms).slice(0, 3)
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      if (random.next() < 0.86)
        paths[Math.floor(random.next() * 4)] += `M${column * s} ${row * s}${random.pick(chosen)}`
  return (
    background(mixColours(palette.ground, palette.accents[3], 0.14)) +
    ground({ ...canvas, horizon: rows * s }) +
    paths.map((path, index) => fill(palette.accents[index] as string, path)).join('')
  )
}

/** Dots that shrink with the distance from a light. */
function halftone({ random, palette, horizon }: CoverCanvas): string {
  const step = horizon > 160 ? 29 : 24
  const [x0, y0] = [random.between(260, 600), random.between(-20, horizon * 0.35)]
  const reach = random.between(330, 430)
  const sizes = new Map<number, string>()
  for (let row = 0; row * step * 0.8 < horizon - 12; row++)
    for (let column = 0; column * step < coverWidth + step; column++) {
      const [x, y] = [column * step + (row % 2) * (step / 2), 10 + row * step * 0.8]
      const near = (1 - Math.hypot(x - x0, y - y0) / reach) * Math.min(1, 1.6 - (1.5 * y) / horizon)
      const size = Math.round(near * 5) * 5
      if (size > 0) sizes.set(size, `${sizes.get(size) ?? ''}M${n(x)} ${n(y)}h0`)
    }
  const [a, b] = random.shuffled(palette.accents.slice(0, 3)) as [string, string]
  const lines = [...sizes]
    .sort(([first], [second]) => first - second)
    .map(
      ([size, path]) =>
        `<path stroke="${mixColours(b, a, size / 25)}" stroke-width="${size}" d="${path}"/>`,
    )
  return `${background(palette.ground)}<g stroke-linecap="round">${lines.join('')}</g>`
}

/** Mountains of folded paper, with a light and a dark side. */
function folds(canvas: CoverCanvas): string {
  const { random, palette, horizon } = canvas
  const [first, second, third] = [palette.accents[1], palette.accents[2], palette.accents[3]]
  let svg =
    background(mixColours(palette.ground, palette.accents[3], 0.22)) +
    fill(palette.accents[0], disc(random.between(120, 520), horizon * 0.36, horizon * 0.2))
  for (const [layer, colour] of [first, second, third].entries()) {
    let [light, shade] = ['', '']
    let x = random.between(-140, -40)
    while (x < coverWidth + 40) {
      const wide = random.between(120, 230) * (1 - layer * 0.12)
      const [peak, top] = [
        x + wide * random.between(0.4, 0.6),
        horizon * (0.12 + layer * 0.27 + random.between(0, 0.24)),
      ]
      const foot = peak + wide * random.between(-0.12, 0.16)
      light += `M${point(x - 30, horizon)}L${point(peak, top)} ${point(foot, horizon)}z`
      shade += `M${point(peak, top)}L${point(x + wide + 30, horizon)}H${n(foot)}z`
      x += wide * random.between(0.75, 1)
    }
    svg += fill(colour, light) + fill(mixColours(colour, '#000000', 0.22), shade)
  }
  return svg + ground(canvas)
}

/** A hill on a map, seen from above. */
function contours({ random, palette, horizon }: CoverCanvas): string {
  const count = 7
  const [x0, y0] = [random.between(330, 540), horizon * random.between(0.28, 0.42)]
  const waves = [2, 3, 5].map((times) => ({
    times,
    size: random.between(0.05, 0.16),
    phase: random.between(0, 6.28),
  }))
  const colours = random.shuffled(palette.accents.slice(0, 3))
  const angles = Array.from({ length: 10 }, (_, index) => (index / 10) * 2 * Math.PI)
  const reach = (level: number, angle: number) =>
    (1 - level / count) *
    waves.reduce(
      (sum, { times, size, phase }) => sum + size * Math.sin(times * angle + phase + level * 0.25),
      1,
    )
  // The two outer levels have colours close to the ground and are behind the text; the others end
  // above it.
  const lowest = Math.max(
    ...[2, 3, 4].flatMap((level) => angles.map((angle) => Math.sin(angle) * reach(level, angle))),
  )
  const tall = Math.min(horizon * 0.95, (horizon - 9 - y0) / lowest)
  let svg = background(palette.ground)
  for (let level = 0; level < count; level++) {
    const high = level < 2 ? horizon * 1.5 : tall
    const points = angles.map(
      (angle) =>
        [
          x0 + Math.cos(angle) * reach(level, angle) * 420,
          y0 + Math.sin(angle) * reach(level, angle) * high,
        ] as const,
    )
    const inner = mixColours(
      colours[0] as string,
      colours[1] as string,
      Math.max(0, level - 2) / (count - 3),
    )
    svg += fill(
      level < 2 ? mixColours(palette.ground, palette.accents[3], 0.14 + level * 0.12) : inner,
      closed(points),
    )
  }
  return svg
}

/** Rays of light from behind the text. */
function rays(canvas: CoverCanvas): string {
  const { random, palette, horizon } = canvas
  const [x, y] = [random.between(140, 500), horizon]
  const count = 2 * n(random.between(7, 11))
  const paths = ['', '', '']
  const turn = random.between(0, 0.3)
  const edge = (ray: number) => {
    const angle = Math.PI * ((ray + turn) / count) * 2
    return point(x + Math.cos(angle) * 760, y + Math.sin(angle) * 760)
  }
  for (let index = 0; index < count; index++) {
    if (index % 2 === 0)
      paths[(index / 2) % 3] += `M${point(x, y)}L${edge(index)} ${edge(index + 1)}z`
  }
  const [a, b, c] = random.shuffled(palette.accents.slice(1)) as [string, string, string]
  const sun = circle(x, y, horizon * 0.42, palette.accents[0])
  return (
    background(mixColours(palette.ground, palette.accents[3], 0.3)) +
    [a, b, c].map((colour, index) => fill(colour, paths[index] as string)).join('') +
    sun +
    ground(canvas)
  )
}

/** The waveform of a voice. */
function voice({ random, palette, horizon }: CoverCanvas): string {
  const count = n(random.between(22, 30))
  const step = coverWidth / count
  const [slow, quick, phase] = [
    random.between(0.14, 0.24),
    random.between(0.7, 1.3),
    random.between(0, 6),
  ]
  const [from, to] = random.shuffled(palette.accents.slice(0, 3)) as [string, string]
  const middle = horizon * 0.52
  const paths = ['', '', '', '', '']
  for (let index = 0; index < count; index++) {
    const loud =
      0.16 +
      0.84 *
        Math.abs(Math.sin(index * slow + phase)) *
        (0.55 + 0.45 * Math.sin(index * quick + phase * 2))
    const reach = Math.max(1, loud * (horizon * 0.44 - step * 0.3))
    paths[Math.min(4, Math.floor((index / count) * 5))] +=
      `M${n(index * step + step / 2)} ${n(middle - reach)}v${n(2 * reach)}`
  }
  const lines = paths.map(
    (path, index) => `<path stroke="${mixColours(from, to, index / 4)}" d="${path}"/>`,
  )
  const group = `<g stroke-width="${n(step * 0.56)}" stroke-linecap="round">${lines.join('')}</g>`
  return background(palette.ground) + group
}

/** Phases of moons. */
function moons({ random, palette, horizon }: CoverCanvas): string {
  const count = n(random.between(3, 5))
  const r = Math.min(horizon * 0.42, 320 / count)
  const gap = (coverWidth - 72) / count
  const colours = random.shuffled(palette.accents)
  let svg = background(mixColours(palette.ground, palette.accents[3], 0.1))
  for (let index = 0; index < count; index++) {
    const [x, y] = [36 + gap * (index + 0.5), horizon * 0.5]
    const [first, second] = [
      colours[index % 4] as string,
      colours[(index + 1 + n(random.next())) % 4] as string,
    ]
    svg += fill(first, disc(x, y, r))
    // One half in another colour, with a bulge.
    const bulge = n(r * random.between(0.1, 0.9))
    const sweep = random.next() < 0.5 ? 0 : 1
    const outer = `a${point(r, r)} 0 0 1 0 ${2 * n(r)}`
    const inner = `a${bulge} ${n(r)} 0 0 ${sweep} 0-${2 * n(r)}`
    svg += fill(second, `M${point(x, y - r)}${outer}${inner}z`)
  }
  return svg
}

/** Ridges, each of which hides a part of those behind it. */
function ridges({ random, palette, horizon }: CoverCanvas): string {
  const count = 7
  const [from, to] = random.shuffled(palette.accents.slice(0, 3)) as [string, string]
  const centre = random.between(200, 460)
  let svg = background(palette.ground)
  for (let index = 0; index < count; index++) {
    const base = horizon * (0.5 + (0.44 * index) / (count - 1))
    let path = `M-9 ${n(base)}`
    for (let x = 30; x <= 610; x += 58) {
      const tall =
        (0.06 + Math.exp(-(((x - centre) / 190) ** 2))) * horizon * random.between(0.08, 0.62)
      path += `S${x} ${n(base - tall)} ${x + 29} ${n(base - tall * 0.3)}`
    }
    const tone = mixColours(from, to, index / (count - 1))
    const area = `${path}L650 ${n(base)}V${n(base + 9)}H-9z`
    const colours = `fill="${mixColours(palette.ground, tone, 0.16)}" stroke="${tone}"`
    svg += `<path ${colours} stroke-width="4" d="${area}"/>`
  }
  return svg + fill(palette.ground, `M0 ${n(horizon * 0.94)}h640V360H0z`)
}

/** Returns a closed smooth path through the points (a Catmull-Rom spline). */
function closed(points: readonly (readonly [number, number])[]): string {
  const pointAt = (index: number) =>
    points[(index + points.length) % points.length] as readonly [number, number]
  let path = `M${point(...pointAt(0))}`
  for (let index = 0; index < points.length; index++) {
    const [p, q] = [pointAt(index - 1), pointAt(index)]
    const [r, s] = [pointAt(index + 1), pointAt(index + 2)]
    const control1 = point(q[0] + (r[0] - p[0]) / 6, q[1] + (r[1] - p[1]) / 6)
    const control2 = point(r[0] - (s[0] - q[0]) / 6, r[1] - (s[1] - q[1]) / 6)
    path += `C${control1} ${control2} ${point(...r)}`
  }
  return `${path}z`
}

/** All drawings by name. */
export const compositions = {
  bands,
  arcs,
  tiles,
  halftone,
  folds,
  contours,
  rays,
  voice,
  moons,
  ridges,
} as const satisfies Record<string, (canvas: CoverCanvas) => string>
export type Composition = keyof typeof compositions
