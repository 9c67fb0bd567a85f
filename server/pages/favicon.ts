/** The logo of the page header, in colours that are visible on light and dark tabs. */
export const favicon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">' +
  '<rect width="24" height="24" rx="5" fill="#9a3412"/>' +
  '<path d="M5 5.5h3.2v11H5zM9.8 7.2h2.4v9.3H9.8zM14 7.6l2.9-.8 2.5 9.3-2.9.8z" fill="#fff"/>' +
  '<path d="M4 18.9h16" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>'

/** The same logo as a PNG of 32 by 32 pixels. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgBAMAAACBVGfHAAAAMFBMVEVMaXGaMxCaMxGaMxGZMxLVGgiaNBL/' +
    '//+1alD48e+/fmjy5N/YsaWhQSGrVjrly8J1ljvPAAAABnRSTlMALZx/3xN90gVbAAAACXBIWXMAABOvAAAT' +
    'rwFj5o7DAAAAs0lEQVQoz2NgYFRJgwMnAQYGBrM0JJDMwMCchgIMGMRQBRIZ1FAFkhjcUAVSGNLQAEig58wx' +
    'VIHl5dMwBLJWXctdcwxJILO87TlEHUIgs7wOVSC/vApVIKu8HlUgr7z8GopA2nYgRhE4Xn4MVWB5+TdUgevl' +
    'tagC2WB7kQRyymtQBTLKd0EFoCB3XRqqANz7q3fDwS6wwPFyOACaCgzkGx1w0AsMZIxowIgojKjEiGz05AAA' +
    'GMjcF0pMR84AAAAASUVORK5CYII=',
  'base64',
)

/** The logo as an ICO file, which browsers and feed readers request at /favicon.ico. */
export const faviconIco = icoOf(png)

/** Returns a PNG of 32 by 32 pixels as an ICO file. */
export function icoOf(png: Buffer): Buffer {
  return Buffer.concat([icoHeader(png.length), png])
}

/** Returns the header of a file with one picture of 32 by 32 pixels. */
function icoHeader(bytes: number): Buffer {
  const header = Buffer.alloc(22)
  header.writeUInt16LE(1, 2) // an icon
  header.writeUInt16LE(1, 4) // one picture
  header.writeUInt8(32, 6)
  header.writeUInt8(32, 7)
  header.writeUInt16LE(1, 10) // planes
  header.writeUInt16LE(32, 12) // bits per pixel
  header.writeUInt32LE(bytes, 14)
  header.writeUInt32LE(header.length, 18)
  return header
}
