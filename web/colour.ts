// Colours of events. Any colour can be the background of text: black or white is legible on each.

/** Returns the colour of text on a background, black or white; undefined unless it is #rrggbb. */
export function inkOn(background: string): '#000' | '#fff' | undefined {
  const [red, green, blue] =
    /^#(..)(..)(..)$/
      .exec(background)
      ?.slice(1)
      .map((hex) => Number(`0x${hex}`)) ?? []
  if (red === undefined || green === undefined || blue === undefined) return undefined
  const luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
  if (Number.isNaN(luminance)) return undefined
  // The contrast ratios of WCAG 2: the higher one is at least 4.58 for every colour.
  const [toWhite, toBlack] = [1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05]
  return toWhite > toBlack ? '#fff' : '#000'
}

/** Returns the light of a channel from 0 to 255, without the gamma of sRGB. */
function linear(channel: number): number {
  const value = channel / 255
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}
