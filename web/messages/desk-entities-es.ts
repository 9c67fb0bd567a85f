import type { EntityMessages } from './desk-entities-en.ts'

/** The texts of speakers, tags and events in the desk. */
export const entitiesEs: EntityMessages = {
  titles: { speaker: 'Ponentes', tag: 'Etiquetas', category: 'Eventos' },
  homeLink: 'Renombra, fusiona y divide ponentes, etiquetas y eventos.',
  done: {
    merged: 'Fusionado.',
    unmerged: 'La fusión se ha deshecho.',
    split: 'Las charlas se han movido.',
  },

  search: 'Buscar nombres',
  searchHelp:
    'Parte de un nombre o alias, o un nombre parecido. Incluye los nombres de borradores.',
  sort: 'Ordenar por',
  sorts: { name: 'Nombre', use: 'Charlas' },
  none: 'No se ha encontrado nada.',
  talks: (formatted, count) =>
    count === 1 ? `${formatted} charla publicada` : `${formatted} charlas publicadas`,
  spellings: 'Grafías parecidas',
  spellingsHelp: 'Elige cuál conservar. Verás todas las charlas que cambian antes de fusionar.',
  keep: (name) => `Conservar ${name}`,
  mergeGroup: 'Fusionar',
  mergeGroupInto: (names) => `Fusionar ${names}`,
  moreSpellings: 'Más grafías parecidas',

  mergeTitle: (name) => `Fusionar con ${name}`,
  mergeHelp: (names, into) =>
    `${names} pasa a ser ${into} en las charlas siguientes. ${into} recibe todos los nombres y ` +
    'direcciones antiguas, y los datos que le faltan. Puedes deshacerlo.',
  mergeButton: (formatted, count) =>
    count === 1
      ? `Fusionar y cambiar ${formatted} charla`
      : `Fusionar y cambiar ${formatted} charlas`,
  mergeErrors: {
    unknown: 'Ese nombre no existe. Elige uno de la lista.',
    same: 'Elige otro: los dos son el mismo.',
  },
  mergeNothing: 'No queda nada que fusionar. Vuelve a la lista.',
  confirmLarge:
    'Cambian más de 100 charlas. Confirma antes que eres tú, si iniciaste sesión hace más de 10 ' +
    'minutos.',
  stale: 'Ha cambiado mientras tanto. Revisa el estado actual y envíalo de nuevo.',
  affected: (formatted, count) =>
    count === 1 ? `Cambia ${formatted} charla` : `Cambian ${formatted} charlas`,
  affectedNone: 'No cambia ninguna charla.',
  firstOf: (formatted) => `Estas son las primeras ${formatted}.`,
  takenDown: (id) => `Charla ${id}, que fue retirada`,

  public: 'Página en el archivo',
  names: 'Nombres',
  name: 'Nombre',
  aliases: 'Otros nombres',
  aliasesHelp: 'Un nombre por línea. Los lectores los ven y encuentran las charlas con ellos.',
  hiddenNames: 'Nombres ocultos',
  hiddenNamesHelp:
    'Un nombre por línea. Llevan aquí y nunca se muestran: nombres anteriores, erratas.',
  oldSlugs: (slugs) => `Direcciones antiguas que redirigen aquí: ${slugs}`,
  retiredSlugs: 'Direcciones retiradas',
  retiredSlugsHelp: 'Una por línea. Una dirección antigua de esta lista ya no redirige.',
  saveNames: 'Guardar nombres',
  renameTitle: (name, to) => `Renombrar ${name} a ${to}`,
  renameHelp:
    'El nombre anterior pasa a ser un nombre oculto, y la dirección anterior redirige. Cada ' +
    'charla recibe una revisión.',
  renameButton: (formatted, count) =>
    count === 1
      ? `Renombrar y cambiar ${formatted} charla`
      : `Renombrar y cambiar ${formatted} charlas`,
  back: 'Volver',
  merge: 'Fusionar con otro',
  mergeInto: 'Nombre o dirección del que se conserva',
  mergePreview: 'Mostrar lo que cambia',
  split: 'Dividir',
  splitHelp: '¿Dos personas tienen el mismo nombre? Elige las charlas de la otra.',
  splitTitle: (name) => `Dividir ${name}`,
  splitName: 'Nombre de la otra persona',
  splitNameHelp: 'Un nombre que las distinga. Una persona que ya existe recibe las charlas.',
  splitTalks: 'Charlas de la otra persona',
  splitButton: 'Mover las charlas elegidas',
  splitNoTalks: 'Elige al menos una charla.',
  moreTalks: 'Más charlas',

  merges: 'Fusionados con este',
  mergedBy: (by, time) => `Fusionado por ${by}, ${time}`,
  undo: 'Deshacer',
  undoMerge: (name) => `Deshacer la fusión de ${name}`,
  cannotUndo: 'Fusionado por una versión anterior: no se puede deshacer.',
  undoHelp: (name, into) =>
    `${name} vuelve a existir con sus nombres, direcciones y datos. Las charlas siguientes lo ` +
    `recuperan; ${into} conserva las demás.`,
  undoButton: (formatted, count) =>
    count === 1
      ? `Deshacer y cambiar ${formatted} charla`
      : `Deshacer y cambiar ${formatted} charlas`,
  kept: (formatted, count) =>
    count === 1
      ? `${formatted} charla se editó después y queda como está`
      : `${formatted} charlas se editaron después y quedan como están`,

  profile: 'Perfil',
  saveProfile: 'Guardar perfil',
  profileFields: {
    description: 'Texto (Markdown)',
    url: 'Sitio web',
    start_date: 'Primer día',
    end_date: 'Último día',
    city: 'Ciudad',
    country: 'País',
    online: 'Se podía participar en línea',
    series: 'Serie',
    logo_url: 'URL del logotipo',
    colour: 'Color',
    pronouns: 'Pronombres',
    picture_url: 'URL de la imagen',
    links: 'Enlaces',
  },
  profileHelp: {
    country: 'Dos letras, como DE.',
    series: 'Como PyCon US. Los eventos con la misma serie van juntos.',
    logo_url: 'Una URL https. El servidor la descarga; los lectores nunca contactan ese sitio.',
    picture_url: 'Una URL https. El servidor la descarga; los lectores nunca contactan ese sitio.',
    colour: 'Como #336699.',
    links: (kinds) => `Uno por línea: un tipo y una URL https. Tipos: ${kinds}.`,
  },
}
