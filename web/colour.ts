// Colours of events and of the archive. Any colour can be the background of text: black or white is
// legible on each.

/** Returns the colour of text on a background, black or white; undefined unless it is #rrggbb. */
export function inkOn(background: string): '#000' | '#fff' | undefined {
  const luminance = luminanceOf(background)
  if (luminance === undefined) return undefined
  // The contrast ratios of WCAG 2: the higher one is at least 4.58 for every colour.
  const [toWhite, toBlack] = [1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05]
  return toWhite > toBlack ? '#fff' : '#000'
}

/** Returns the contrast ratio of WCAG 2 of two colours, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminanceOf(one) ?? 0, luminanceOf(other) ?? 0].sort(
    (a, b) => a - b,
  )
  return (lighter + 0.05) / (darker + 0.05)
}

/** The backgrounds of text in each theme, from base.css. */
export const grounds = {
  light: ['#fbfaf7', '#ffffff', '#f1eee7'],
  dark: ['#16140f', '#201d17', '#100e0a'],
} as const
/** WCAG 2 asks for 4.5. */
const minContrast = 4.6

export interface Accent {
  /** Of links and buttons. */
  readonly accent: string
  /** Of text on the accent colour. */
  readonly ink: string
  /** A background in a tone of the accent colour. */
  readonly soft: string
}

/** Derives the accent colours of both themes: links are legible on every background. */
export function accentColours(colour: string): { readonly light: Accent; readonly dark: Accent } {
  return {
    light: legibleAccent(colour, [...grounds.light], mix(colour, '#ffffff', 0.88), '#000000'),
    dark: legibleAccent(colour, [...grounds.dark], mix(colour, '#16140f', 0.8), '#ffffff'),
  }
}

/** Mixes a colour with black or white, in small steps, until it has enough contrast. */
function legibleAccent(colour: string, ground: string[], soft: string, end: string): Accent {
  const backgrounds = [...ground, soft]
  const isLegible = (accent: string) =>
    backgrounds.every((background) => contrast(accent, background) >= minContrast)
  let accent = colour
  for (let share = 0; share <= 1 && !isLegible(accent); share += 0.02)
    accent = mix(colour, end, share)
  return { accent, ink: inkOn(accent) ?? '#fff', soft }
}

/** Mixes two colours: a share of 1 is only the second one. */
function mix(colour: string, other: string, share: number): string {
  const [from, to] = [channelsOf(colour), channelsOf(other)]
  const mixed = from.map((channel, index) =>
    Math.round(channel * (1 - share) + (to[index] ?? 0) * share),
  )
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

/** Returns red, green and blue of #rrggbb from 0 to 255; nothing for other texts. */
const channelsOf = (colour: string): number[] =>
  /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i
    .exec(colour)
    ?.slice(1)
    .map((hex) => Number(`0x${hex}`)) ?? []

function luminanceOf(colour: string): number | undefined {
  const [red, green, blue] = channelsOf(colour)
  if (red === undefined || green === undefined || blue === undefined) return undefined
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/** Returns the light of a channel from 0 to 255, without the gamma of sRGB. */
function linear(channel: number): number {
  const value = channel / 255
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}
