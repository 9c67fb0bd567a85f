import { mixColours, type Palette } from './palettes.ts'
import type { SeededRandom } from './seeded-random.ts'

// What is drawn above the words, on 640 by 360. The words stand below `horizon`: from there on only
// what is close to the ground.

export interface CoverCanvas {
  readonly chance: SeededRandom
  readonly palette: Palette
  readonly horizon: number
}

export const coverWidth = 640
export const coverHeight = 360

const n = Math.round
const fill = (colour: string, path: string) =>
  path === '' ? '' : `<path fill="${colour}" d="${path}"/>`
const below = ({ palette, horizon }: CoverCanvas) =>
  fill(palette.ground, `M0 ${n(horizon)}h640V360H0z`)
const back = (colour: string) => fill(colour, 'M0 0h640v360H0z')
const disc = (x: number, y: number, r: number) =>
  `M${n(x - r)} ${n(y)}a${n(r)} ${n(r)} 0 1 0 ${2 * n(r)} 0a${n(r)} ${n(r)} 0 1 0 ${-2 * n(r)} 0z`

/** Hills behind hills, or waves. */
function bands({ chance, palette, horizon }: CoverCanvas): string {
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
  const radius = chance.between(0.22, 0.34) * horizon
  let drawn =
    back(sky) +
    fill(sun, disc(chance.between(90, 550), horizon * chance.between(0.3, 0.45), radius))
  for (let at = 0; at < count; at++) {
    const y = horizon * (0.42 + (0.5 * at) / (count - 1))
    const swing = horizon * (at === count - 1 ? 0.05 : chance.between(0.1, 0.2))
    const [a, b, c, d] = [0, 1, 2, 3].map((it) =>
      n(y + (it % 2 === at % 2 ? -1 : 1) * swing * chance.between(0.4, 1)),
    ) as [number, number, number, number]
    const middle = n(chance.between(250, 390))
    drawn += fill(
      tones[at] as string,
      `M0 ${a}C${n(middle / 3)} ${b} ${n((middle * 2) / 3)} ${b} ${middle} ${n((b + c) / 2)}S${n(middle + (640 - middle) * 0.6)} ${d} 640 ${c}V360H0z`,
    )
  }
  return drawn
}

/** Rings that rise behind the words, and others that hang from above. */
function arcs(stage: CoverCanvas): string {
  const { chance, palette, horizon } = stage
  const isLeft = chance.next() < 0.5
  const x = isLeft ? chance.between(110, 240) : chance.between(400, 530)
  const colours = chance.shuffled(palette.accents)
  const sky = mixColours(palette.ground, palette.accents[3], 0.16)
  const rings = (cx: number, cy: number, limit: number, count: number, from: number) =>
    Array.from({ length: count }, (_, at) => {
      const colour = at % 2 === 1 ? sky : colours[(from + at / 2) % 4]
      return `<circle cx="${n(cx)}" cy="${n(cy)}" r="${n(limit * (1 - at / count))}" fill="${colour}"/>`
    }).join('')
  const small = rings(
    x + (isLeft ? 1 : -1) * chance.between(230, 300),
    0,
    horizon * chance.between(0.62, 0.8),
    5,
    2,
  )
  return (
    back(sky) + small + rings(x, horizon, horizon * chance.between(1.05, 1.3), 7, 0) + below(stage)
  )
}

/** A frieze of quarter circles, discs and triangles. */
function tiles(stage: CoverCanvas): string {
  const { chance, palette, horizon } = stage
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
  // Two or three forms make a pattern, nine make a mess.
  const chosen = chance.shuffled(forms).slice(0, 3)
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      if (chance.next() < 0.86)
        paths[Math.floor(chance.next() * 4)] += `M${column * s} ${row * s}${chance.pick(chosen)}`
  return (
    back(mixColours(palette.ground, palette.accents[3], 0.14)) +
    below({ ...stage, horizon: rows * s }) +
    paths.map((path, at) => fill(palette.accents[at] as string, path)).join('')
  )
}

/** Dots that shrink with the distance from a light. */
function halftone({ chance, palette, horizon }: CoverCanvas): string {
  const step = horizon > 160 ? 29 : 24
  const [x0, y0] = [chance.between(260, 600), chance.between(-20, horizon * 0.35)]
  const reach = chance.between(330, 430)
  const sizes = new Map<number, string>()
  for (let row = 0; row * step * 0.8 < horizon - 12; row++)
    for (let column = 0; column * step < coverWidth + step; column++) {
      const [x, y] = [column * step + (row % 2) * (step / 2), 10 + row * step * 0.8]
      const near = (1 - Math.hypot(x - x0, y - y0) / reach) * Math.min(1, 1.6 - (1.5 * y) / horizon)
      const size = Math.round(near * 5) * 5
      if (size > 0) sizes.set(size, `${sizes.get(size) ?? ''}M${n(x)} ${n(y)}h0`)
    }
  const [a, b] = chance.shuffled(palette.accents.slice(0, 3)) as [string, string]
  const lines = [...sizes]
    .sort(([one], [two]) => one - two)
    .map(
      ([size, path]) =>
        `<path stroke="${mixColours(b, a, size / 25)}" stroke-width="${size}" d="${path}"/>`,
    )
  return `${back(palette.ground)}<g stroke-linecap="round">${lines.join('')}</g>`
}

/** Mountains of folded paper: a light side and a side in the shade. */
function folds(stage: CoverCanvas): string {
  const { chance, palette, horizon } = stage
  const [first, second, third] = [palette.accents[1], palette.accents[2], palette.accents[3]]
  let drawn =
    back(mixColours(palette.ground, palette.accents[3], 0.22)) +
    fill(palette.accents[0], disc(chance.between(120, 520), horizon * 0.36, horizon * 0.2))
  for (const [layer, colour] of [first, second, third].entries()) {
    const [light, shade] = ['', ''] as string[]
    const paths = [light, shade] as [string, string]
    let x = chance.between(-140, -40)
    while (x < coverWidth + 40) {
      const wide = chance.between(120, 230) * (1 - layer * 0.12)
      const [peak, top] = [
        x + wide * chance.between(0.4, 0.6),
        horizon * (0.12 + layer * 0.27 + chance.between(0, 0.24)),
      ]
      const foot = peak + wide * chance.between(-0.12, 0.16)
      paths[0] += `M${n(x - 30)} ${n(horizon)}L${n(peak)} ${n(top)} ${n(foot)} ${n(horizon)}z`
      paths[1] += `M${n(peak)} ${n(top)}L${n(x + wide + 30)} ${n(horizon)}H${n(foot)}z`
      x += wide * chance.between(0.75, 1)
    }
    drawn += fill(colour, paths[0]) + fill(mixColours(colour, '#000000', 0.22), paths[1])
  }
  return drawn + below(stage)
}

/** A hill on a map, seen from above. */
function contours({ chance, palette, horizon }: CoverCanvas): string {
  const count = 7
  const [x0, y0] = [chance.between(330, 540), horizon * chance.between(0.28, 0.42)]
  const waves = [2, 3, 5].map((times) => ({
    times,
    size: chance.between(0.05, 0.16),
    phase: chance.between(0, 6.28),
  }))
  const colours = chance.shuffled(palette.accents.slice(0, 3))
  const angles = Array.from({ length: 10 }, (_, at) => (at / 10) * 2 * Math.PI)
  const reach = (level: number, angle: number) =>
    (1 - level / count) *
    waves.reduce(
      (sum, { times, size, phase }) => sum + size * Math.sin(times * angle + phase + level * 0.25),
      1,
    )
  // The two outer levels are close to the ground and go behind the words, the others end above
  // them.
  const lowest = Math.max(
    ...[2, 3, 4].flatMap((level) => angles.map((angle) => Math.sin(angle) * reach(level, angle))),
  )
  const tall = Math.min(horizon * 0.95, (horizon - 9 - y0) / lowest)
  let drawn = back(palette.ground)
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
    drawn += fill(
      level < 2 ? mixColours(palette.ground, palette.accents[3], 0.14 + level * 0.12) : inner,
      closed(points),
    )
  }
  return drawn
}

/** Light that fans out from behind the words. */
function rays(stage: CoverCanvas): string {
  const { chance, palette, horizon } = stage
  const [x, y] = [chance.between(140, 500), horizon]
  const count = 2 * n(chance.between(7, 11))
  const paths = ['', '', '']
  const turn = chance.between(0, 0.3)
  for (let at = 0; at < count; at++) {
    const [from, to] = [at, at + 1].map((it) => Math.PI * ((it + turn) / count) * 2) as [
      number,
      number,
    ]
    const [a, b] = [from, to].map(
      (angle) => `${n(x + Math.cos(angle) * 760)} ${n(y + Math.sin(angle) * 760)}`,
    )
    if (at % 2 === 0) paths[(at / 2) % 3] += `M${n(x)} ${n(y)}L${a} ${b}z`
  }
  const [a, b, c] = chance.shuffled(palette.accents.slice(1)) as [string, string, string]
  const sun = `<circle cx="${n(x)}" cy="${n(y)}" r="${n(horizon * 0.42)}" fill="${palette.accents[0]}"/>`
  return (
    back(mixColours(palette.ground, palette.accents[3], 0.3)) +
    [a, b, c].map((colour, at) => fill(colour, paths[at] as string)).join('') +
    sun +
    below(stage)
  )
}

/** A voice, as a recorder draws it. */
function voice({ chance, palette, horizon }: CoverCanvas): string {
  const count = n(chance.between(22, 30))
  const step = coverWidth / count
  const [slow, quick, phase] = [
    chance.between(0.14, 0.24),
    chance.between(0.7, 1.3),
    chance.between(0, 6),
  ]
  const [from, to] = chance.shuffled(palette.accents.slice(0, 3)) as [string, string]
  const middle = horizon * 0.52
  const paths = ['', '', '', '', '']
  for (let at = 0; at < count; at++) {
    const loud =
      0.16 +
      0.84 *
        Math.abs(Math.sin(at * slow + phase)) *
        (0.55 + 0.45 * Math.sin(at * quick + phase * 2))
    const reach = Math.max(1, loud * (horizon * 0.44 - step * 0.3))
    paths[Math.min(4, Math.floor((at / count) * 5))] +=
      `M${n(at * step + step / 2)} ${n(middle - reach)}v${n(2 * reach)}`
  }
  const lines = paths.map(
    (path, at) => `<path stroke="${mixColours(from, to, at / 4)}" d="${path}"/>`,
  )
  return `${back(palette.ground)}<g stroke-width="${n(step * 0.56)}" stroke-linecap="round">${lines.join('')}</g>`
}

/** Moons that pass before each other. */
function moons({ chance, palette, horizon }: CoverCanvas): string {
  const count = n(chance.between(3, 5))
  const r = Math.min(horizon * 0.42, 320 / count)
  const gap = (coverWidth - 72) / count
  const colours = chance.shuffled(palette.accents)
  let drawn = back(mixColours(palette.ground, palette.accents[3], 0.1))
  for (let at = 0; at < count; at++) {
    const [x, y] = [36 + gap * (at + 0.5), horizon * 0.5]
    const [one, two] = [
      colours[at % 4] as string,
      colours[(at + 1 + n(chance.next())) % 4] as string,
    ]
    drawn += fill(one, disc(x, y, r))
    // Half of it in another colour, with a bulge: a phase.
    const bulge = n(r * chance.between(0.1, 0.9))
    drawn += fill(
      two,
      `M${n(x)} ${n(y - r)}a${n(r)} ${n(r)} 0 0 1 0 ${2 * n(r)}a${bulge} ${n(r)} 0 0 ${chance.next() < 0.5 ? 0 : 1} 0-${2 * n(r)}z`,
    )
  }
  return drawn
}

/** Lines over lines, each hiding what is behind it. */
function ridges({ chance, palette, horizon }: CoverCanvas): string {
  const count = 7
  const [from, to] = chance.shuffled(palette.accents.slice(0, 3)) as [string, string]
  const centre = chance.between(200, 460)
  let drawn = back(palette.ground)
  for (let at = 0; at < count; at++) {
    const base = horizon * (0.5 + (0.44 * at) / (count - 1))
    let path = `M-9 ${n(base)}`
    for (let x = 30; x <= 610; x += 58) {
      const tall =
        (0.06 + Math.exp(-(((x - centre) / 190) ** 2))) * horizon * chance.between(0.08, 0.62)
      path += `S${x} ${n(base - tall)} ${x + 29} ${n(base - tall * 0.3)}`
    }
    const tone = mixColours(from, to, at / (count - 1))
    drawn += `<path fill="${mixColours(palette.ground, tone, 0.16)}" stroke="${tone}" stroke-width="4" d="${path}L650 ${n(base)}V${n(base + 9)}H-9z"/>`
  }
  return drawn + fill(palette.ground, `M0 ${n(horizon * 0.94)}h640V360H0z`)
}

/** A smooth line through all of them and back. */
function closed(points: readonly (readonly [number, number])[]): string {
  const at = (index: number) =>
    points[(index + points.length) % points.length] as readonly [number, number]
  let path = `M${n(at(0)[0])} ${n(at(0)[1])}`
  for (let index = 0; index < points.length; index++) {
    const [p, q, r, s] = [at(index - 1), at(index), at(index + 1), at(index + 2)]
    const [c, d] = [0, 1].map((axis) => [
      q[axis as 0] + (r[axis as 0] - p[axis as 0]) / 6,
      r[axis as 0] - (s[axis as 0] - q[axis as 0]) / 6,
    ]) as [number[], number[]]
    path += `C${n(c[0] as number)} ${n(d[0] as number)} ${n(c[1] as number)} ${n(d[1] as number)} ${n(r[0])} ${n(r[1])}`
  }
  return `${path}z`
}

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
} as const satisfies Record<string, (stage: CoverCanvas) => string>
export type Composition = keyof typeof compositions
