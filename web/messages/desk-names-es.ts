import type { NameMessages, SpeakerLinksMessages } from './desk-names-en.ts'

export const speakerLinksEs: SpeakerLinksMessages = {
  title: (name) => `Enlaces para ${name}`,
  link: 'Enlace para la persona',
  linkHelp: 'Con un enlace, la persona confirma o corrige sus propias charlas, sin cuenta.',
  help:
    'Envía el enlace tú. Quien lo tiene ve las charlas y el perfil de la persona y puede sugerir ' +
    'cambios. Tú decides sobre ellos en la bandeja de entrada.',
  created: 'Copia el enlace ahora: no se vuelve a mostrar. Funciona durante 90 días.',
  create: 'Crear un enlace',
  links: 'Enlaces que funcionan',
  createdBy: (by, time) => `Creado por ${by}, ${time}`,
  until: (time) => `funciona hasta ${time}`,
  lastUsed: (time) => `usado por última vez ${time}`,
  revoke: 'Revocar',
  confirmations: 'Confirmado por la persona',
  confirmed: (revision, time) => `revisión ${revision}, ${time}`,
  fromSpeaker: 'de la persona que dio la charla',
  requests: 'Peticiones de ponentes',
  kinds: { profile: 'Perfil', name: 'Cambio de nombre', removal: 'Retirada' },
  close: 'Hecho',
  closeOf: (name) => `La petición de ${name} está hecha`,
}

export const namesEs: NameMessages = {
  link: 'Cambiar el nombre de forma permanente',
  linkHelp: 'Elimina un nombre anterior de todas partes, también del historial.',
  title: (name) => `Cambiar de forma permanente el nombre de ${name}`,
  help:
    'El nombre anterior desaparece de todas las charlas, textos, eventos, etiquetas, ' +
    'importaciones, sugerencias y del historial. Antes verás cada aparición.',
  permanent: 'No se puede deshacer: no queda ninguna copia del nombre anterior.',
  newName: 'Nombre nuevo',
  oldNames: 'Nombres anteriores',
  oldNamesHelp:
    'Uno por línea. No importan mayúsculas, acentos ni guiones. Para una parte del nombre, ' +
    'escribe qué la sustituye: Brian => Bea.',
  inLinks:
    'También en enlaces a otros sitios. Dejan de funcionar si el otro sitio no cambia también.',
  search: 'Buscar todas las apariciones',
  changes: 'Cambios de nombre',
  imports: 'Importaciones',
  importsHelp:
    'Si una importación vuelve a traer un nombre anterior de esta persona, se sustituye. Para ' +
    'ello solo se guarda un hash del nombre anterior.',
  states: {
    planning: 'Buscando',
    planned: 'Vista previa',
    applying: 'Cambiando',
    applied: 'Cambiado',
    discarded: 'Descartado',
  },
  stateHelp: {
    planning: 'Se buscan los nombres anteriores en todas las tablas.',
    planned: 'Todavía no ha cambiado nada.',
    applying: 'Se están sustituyendo los nombres. Puedes salir de esta página.',
    applied: 'Los nombres anteriores ya no están.',
    discarded: 'No se cambió nada y se borraron los nombres.',
  },
  progress: (table, count) =>
    table === ''
      ? `${count} apariciones hasta ahora`
      : `${table}: ${count} apariciones hasta ahora`,
  found: (rows, places) => `${rows} apariciones, en ${places} campos y tablas.`,
  places: 'Apariciones',
  placesHelp:
    'Quita la marca donde el texto trata de otra persona. El historial y las importaciones de ' +
    'una charla siguen lo que elijas para la charla.',
  rows: (count) => `${count} veces`,
  marks: { link: 'Enlace: se queda', account: 'Sin cambios' },
  save: 'Guardar la selección',
  saveAndNext: 'Guardar y mostrar más apariciones',
  apply: (name) => `Cambiar de forma permanente el nombre de ${name}`,
  discard: 'Descartar',
  applied: (count) => `Se cambiaron ${count} filas.`,
  remaining: 'Apariciones restantes',
  remainingHelp: 'Se sustituyeron los nombres anteriores, salvo en las apariciones restantes.',
  refusals: {
    link: 'lo tiene en un enlace a otro sitio.',
    invalid:
      'no se pudo cambiar: el texto nuevo es demasiado largo o el nombre ya pertenece a otra entrada.',
    missed: 'se editó una y otra vez durante la sustitución. Vuelve a cambiar el nombre.',
    account: 'Sin cambios: cuenta o ajuste. Lo puede cambiar un administrador.',
  },
  problems: {
    'too-slow': 'El último paso tardó demasiado en la base de datos. Se repite.',
    failed: 'El último paso falló. Se repite; el error está en el registro del servidor.',
  },
  subjects: {
    video: 'Charla',
    facts: 'Datos de la charla',
    speaker: 'Ponente',
    tag: 'Etiqueta',
    category: 'Evento',
    synonyms: 'Sinónimos',
    change: 'Historial',
    import: 'Importaciones',
    import_row: 'Filas de importaciones',
    import_entity: 'Nombres en importaciones',
    source_record: 'Lo que dijeron las fuentes',
    match: 'Emparejamientos',
    match_item: 'Archivos de emparejamientos',
    match_decision: 'Decisiones de emparejamientos',
    match_pattern: 'Patrones de títulos',
    followed_source: 'Fuentes seguidas',
    suggestion: 'Sugerencias',
    working_copy: 'Ediciones sin guardar',
    audit_event: 'Registro de auditoría',
    person: 'Cuentas',
    token: 'Nombres de tokens',
    openid_identity: 'Inicio de sesión con OpenID',
    passkey: 'Llaves de acceso',
    session: 'Sesiones',
    video_body: 'Motivos de retiradas',
    webhook: 'Webhooks',
    webhook_delivery: 'Entregas de webhooks',
  },
  table: (name) => `Tabla ${name}`,
  changedNote: 'Se cambió un nombre de forma permanente. No se muestra lo que sustituyó.',
}
