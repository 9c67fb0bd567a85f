/** The texts of uploaded logos and pictures in the desk. */
export const picturesEn = {
  logo: {
    current: 'Current logo',
    remove: 'Remove the logo',
    upload: 'Upload a logo',
  },
  portrait: {
    current: 'Current picture',
    remove: 'Remove the picture',
    upload: 'Upload a picture',
  },
  help: (megabytes: string) =>
    `A JPEG, PNG, WebP, GIF or AVIF of at most ${megabytes} MB. It replaces the URL below. Data ` +
    'about the place and the camera is removed.',
  tooLarge: (megabytes: string) =>
    `This file has more than ${megabytes} MB. Make the picture smaller and upload it again.`,
  errors: {
    empty: 'This file is empty. Choose another one.',
    svg: 'SVG files can contain scripts. Export the picture as PNG and upload that.',
    format: 'This file is not a picture of a known format. Upload a JPEG, PNG, WebP, GIF or AVIF.',
    animated: 'This picture is animated. Upload a single image.',
    unreadable:
      'This picture is damaged or has too many pixels. Save it again as JPEG or PNG, at most ' +
      '4,000 pixels wide, and upload that.',
    full: 'There is no space for more pictures. Ask an administrator, or use a URL.',
    unavailable: 'Pictures cannot be processed at the moment. Try again later, or use a URL.',
  },
}

export type PictureMessages = typeof picturesEn
