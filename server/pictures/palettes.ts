// Colour palettes of covers, chosen by eye in OKLCH: four accents of similar lightness on a ground
// with a strong contrast.

export interface Palette {
  readonly ground: string
  /** For the title: contrast of at least 7:1 on the ground. */
  readonly ink: string
  /** For the event: contrast of at least 4.5:1 on the ground. */
  readonly small: string
  /** From the lightest to the darkest. */
  readonly accents: readonly [string, string, string, string]
}

export const palettes: readonly Palette[] = [
  // Dark grounds: night, aubergine, forest, sea, wine, cobalt, coffee, slate, pine.
  {
    ground: '#14213d',
    ink: '#fdf6e8',
    small: '#f6c667',
    accents: ['#fbd38d', '#f6a01a', '#e0654a', '#3f5f9e'],
  },
  {
    ground: '#2b1338',
    ink: '#fff1ea',
    small: '#ffb98a',
    accents: ['#ffcf9c', '#ff8552', '#d4498b', '#6d2f80'],
  },
  {
    ground: '#0e2f2a',
    ink: '#f6f7e6',
    small: '#ecd07f',
    accents: ['#f0dc9b', '#e3b04b', '#55b58a', '#1f6a5c'],
  },
  {
    ground: '#072a40',
    ink: '#f1faf9',
    small: '#8fdcec',
    accents: ['#bfeaf0', '#4cc3dc', '#f4845f', '#14618a'],
  },
  {
    ground: '#3a0d20',
    ink: '#fff1ec',
    small: '#ffc49b',
    accents: ['#ffd9a8', '#ff9a6b', '#ec4f5f', '#86244a'],
  },
  {
    ground: '#1c1f68',
    ink: '#f6f5ff',
    small: '#ffc9a3',
    accents: ['#ffd0a6', '#ff7d8f', '#8f9bff', '#3f45b8'],
  },
  {
    ground: '#2b1d16',
    ink: '#fbf3e4',
    small: '#efc28a',
    accents: ['#f3dcae', '#e5a253', '#cf5f3a', '#6a4733'],
  },
  {
    ground: '#23233a',
    ink: '#f7f5ff',
    small: '#a9e3da',
    accents: ['#d9d0ff', '#8fdccf', '#f58fae', '#4c4a7d'],
  },
  {
    ground: '#10302f',
    ink: '#f6f8ea',
    small: '#d3e58a',
    accents: ['#e6efb0', '#c2dc5c', '#5bb39c', '#1f6360'],
  },
  // Light grounds: paper, mint, lilac, sky, sand.
  {
    ground: '#fbf1e5',
    ink: '#2a1a2e',
    small: '#a8412f',
    accents: ['#f9cf8a', '#f28a5f', '#d8505a', '#3f8f8c'],
  },
  {
    ground: '#e2f1e9',
    ink: '#0f2f2a',
    small: '#14695c',
    accents: ['#f6cf7d', '#f09a5c', '#36a188', '#1f6378'],
  },
  {
    ground: '#efeafc',
    ink: '#221a49',
    small: '#5b46b8',
    accents: ['#f8c66d', '#f584a8', '#a08cf0', '#5a4bc0'],
  },
  {
    ground: '#e3eff9',
    ink: '#0e2640',
    small: '#1c5f9a',
    accents: ['#f8d27a', '#f39167', '#6db3e3', '#2a6fb0'],
  },
  {
    ground: '#f6f0da',
    ink: '#2a2a16',
    small: '#8a4a1c',
    accents: ['#ecca6a', '#dd8146', '#98a84b', '#4f6b3f'],
  },
]

/** Interpolates between two colours: 0 returns the first, 1 the second. */
export function mixColours(from: string, to: string, share: number): string {
  const channel = (offset: number) => {
    const a = Number.parseInt(from.slice(offset, offset + 2), 16)
    const b = Number.parseInt(to.slice(offset, offset + 2), 16)
    return Math.round(a + (b - a) * share)
      .toString(16)
      .padStart(2, '0')
  }
  return `#${channel(1)}${channel(3)}${channel(5)}`
}
