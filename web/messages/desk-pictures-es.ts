import type { PictureMessages } from './desk-pictures-en.ts'

/** The texts of uploaded logos and pictures in the desk. */
export const picturesEs: PictureMessages = {
  logo: {
    current: 'Logotipo actual',
    remove: 'Quitar el logotipo',
    upload: 'Subir un logotipo',
  },
  portrait: {
    current: 'Imagen actual',
    remove: 'Quitar la imagen',
    upload: 'Subir una imagen',
  },
  help: (megabytes) =>
    `JPEG, PNG, WebP, GIF o AVIF de ${megabytes} MB como máximo. Sustituye a la URL siguiente. Se ` +
    'quitan los datos sobre el lugar y la cámara.',
  tooLarge: (megabytes) =>
    `Este archivo tiene más de ${megabytes} MB. Reduce la imagen y vuelve a subirla.`,
  errors: {
    empty: 'Este archivo está vacío. Elige otro.',
    svg: 'Los archivos SVG pueden contener scripts. Exporta la imagen como PNG y sube ese archivo.',
    format:
      'Este archivo no es una imagen de un formato conocido. Sube un JPEG, PNG, WebP, GIF o AVIF.',
    animated: 'Esta imagen está animada. Sube una sola imagen.',
    unreadable:
      'Esta imagen está dañada o tiene demasiados píxeles. Guárdala de nuevo como JPEG o PNG, de ' +
      '4000 píxeles de ancho como máximo, y sube ese archivo.',
    full: 'No hay espacio para más imágenes. Pregunta a un administrador o usa una URL.',
    unavailable: 'Ahora no se pueden procesar imágenes. Inténtalo más tarde o usa una URL.',
  },
}
