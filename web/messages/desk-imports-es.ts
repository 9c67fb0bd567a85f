import type { ImportMessages } from './desk-imports-en.ts'

/** The texts of imports in the desk. */
export const importsEs: ImportMessages = {
  title: 'Importaciones',
  homeLink: 'Importa charlas de un archivo o una URL, revisa el plan y aplícalo.',
  done: {
    decided: 'La decisión se ha guardado.',
    'decided-all': 'Los conflictos se han decidido.',
    answered: 'Se respondieron preguntas. Repítelo si quedan otras que se puedan responder así.',
    'answered-none': 'No se respondió ninguna: las que siguen abiertas se deciden una a una.',
    discarded: 'La importación se ha eliminado. No había cambiado nada.',
  },

  start: 'Nueva importación',
  startHelp: 'Primero verás un plan. Ninguna charla cambia hasta que lo apliques.',
  file: 'Archivo',
  fileHelp: (megabytes) =>
    `Como máximo ${megabytes} MB, también como .gz. Para archivos mayores, usa una URL o ` +
    '«talkshelf import».',
  url: 'URL, en lugar de un archivo',
  urlHelp: 'Una URL pública http o https. El servidor descarga el archivo.',
  format: 'Formato',
  formatDetected: 'Detectar por el contenido',
  formats: {
    csv: 'Tabla CSV',
    'yt-dlp': 'Lista de reproducción (JSON de yt-dlp)',
    schedule: 'Programa de un congreso (frab, pretalx)',
    pyvideo: 'Datos de PyVideo',
    voctoweb: 'media.ccc.de (voctoweb)',
    v2: 'Exportación de Talkshelf, registros v2',
  },
  event: 'Evento',
  eventHelp: 'De las charlas que no lo tienen en el archivo.',
  newEvent: 'Es un evento nuevo',
  language: 'Idioma',
  languageHelp:
    'De las charlas que no lo tienen en el archivo: nombre en inglés o código, como German o de.',
  draft: 'Crear las charlas nuevas como borradores',
  moreOptions: 'Más opciones',
  recorded: 'Día de la grabación',
  recordedHelp: 'De las charlas que no lo tienen en el archivo. Sustituye al día de subida.',
  source: 'Fuente',
  sourceHelp:
    'Una importación posterior con la misma fuente encuentra las mismas charlas. Por defecto: el ' +
    'formato; para CSV, «csv» y el nombre del archivo.',
  keepTitles: 'No buscar ponentes en los títulos de una lista de reproducción',
  planButton: 'Mostrar el plan',
  errors: {
    missing: 'Elige un archivo o escribe una URL.',
    both: 'Elige un archivo o escribe una URL, pero no ambos.',
    empty: 'El archivo está vacío. Elige otro.',
    damaged:
      'El envío está dañado o incompleto. No se ha importado nada. Envía el formulario otra vez.',
    format:
      'No se reconoce el formato del archivo. Si es uno de los formatos de abajo, elígelo allí. Si ' +
      'no, convierte el archivo a CSV.',
    tooLarge: (megabytes) =>
      `El archivo es demasiado grande: un formulario admite como máximo ${megabytes} MB. Comprímelo ` +
      'con gzip, ponlo en un servidor web y escribe su URL, o usa la orden «talkshelf import».',
    event: (title, similar) =>
      `No hay ningún evento «${title}». Parecidos: ${similar}. Corrige el título o marca «Es un ` +
      'evento nuevo».',
    chooseAgain: 'Los navegadores olvidan el archivo: elígelo de nuevo.',
  },

  list: 'Todas las importaciones',
  none: 'Todavía no hay importaciones.',
  talks: 'Charlas',
  state: 'Estado',
  by: 'Por',
  started: 'Inicio',
  older: 'Importaciones anteriores',
  talkCount: (count) => (count === 1 ? '1 charla' : `${count} charlas`),

  import: (id) => `Importación ${id}`,
  unknownFormat: 'desconocido',
  states: {
    reading: 'Leyéndose',
    failed: 'Fallida',
    planned: 'Planificada',
    applying: 'Aplicándose',
    stopped: 'Detenida',
    applied: 'Aplicada',
    undoing: 'Deshaciéndose',
    undone: 'Deshecha',
  },
  stateHelp: {
    reading: 'El archivo todavía se está leyendo. El plan aparecerá aquí.',
    failed: 'No ha cambiado nada. Corrige el problema e importa el archivo otra vez.',
    planned: 'Todavía no ha cambiado nada. Revisa el plan y aplícalo.',
    applying: 'Puedes cerrar esta página: la importación continúa.',
    stopped: 'Continúa, o deshaz lo que se ha escrito.',
    applied: 'Todas las charlas se han procesado. Puedes deshacer la importación.',
    undoing: 'Puedes cerrar esta página: se sigue deshaciendo.',
    undone: 'La importación se ha deshecho. Puedes aplicarla de nuevo.',
  },
  allRefused:
    'Todas las charlas se rechazan, así que no hay nada que aplicar. Corrige el archivo e impórtalo ' +
    'otra vez.',
  progress: (done, total) => `${done} de ${total} charlas`,
  readSoFar: (count) => `${count} charlas leídas hasta ahora`,
  verdicts: {
    conflict: 'Conflictos',
    refused: 'Rechazadas',
    changed: 'Cambiadas',
    new: 'Nuevas',
    unchanged: 'Sin cambios',
  },
  verdictHelp: {
    conflict:
      'El archivo y el registro del archivo de charlas tienen valores distintos. Sin una decisión, ' +
      'se conservan los valores actuales.',
    refused:
      'Estas charlas se omiten. Corrige las filas en el archivo, o descárgalas como tabla, ' +
      'corrígelas allí e importa esa tabla con la misma fuente.',
    changed: 'Estas charlas se actualizan.',
    new: 'Estas charlas se crean.',
    unchanged: 'Estas charlas ya están al día.',
  },
  views: 'Charlas del plan',
  warningsView: 'Avisos',
  warningsHelp: 'Estos valores son poco probables, pero se importan tal cual.',
  keptView: 'Conservadas al deshacer',
  keptHelp:
    'Estas charlas cambiaron después de la importación, por eso se conservaron al deshacerla. Si ' +
    'las cambió una importación posterior, deshaz primero esa y después esta otra vez. Para ocultar ' +
    'una charla editada a mano, conviértela en borrador.',
  noTalks: 'No hay charlas.',
  downloadRefused: 'Descargar las filas rechazadas (CSV)',
  refusedCut: (rows) => `Esta tabla tiene ${rows} filas, las que caben en un archivo. Hay más.`,
  nextRefused: 'Parte siguiente',
  outcomes: {
    created: 'creada',
    changed: 'cambiada',
    unchanged: 'sin cambios',
    kept: 'conservada como estaba',
    refused: 'rechazada',
    undone: 'deshecha',
    touched: 'no deshecha: cambió después',
  },
  results: 'Resultado',
  undoResult: 'Al deshacer',
  createsTitle: 'Nombres que crea la importación',
  creates: { categories: 'Eventos nuevos', speakers: 'Ponentes nuevos', tags: 'Etiquetas nuevas' },
  andMore: (count) => `y ${count} más`,
  warnings: {
    'missing-date': 'sin fecha',
    'guessed-date': 'fechadas solo por el año de un título',
    'future-date': 'con fecha futura',
    'old-date': 'con fecha anterior a 1900',
    'long-duration': 'de más de seis horas',
    'short-duration': 'de menos de un minuto',
    'several-names': 'con varias personas en un nombre',
    'similar-name': 'con una persona cuyo nombre se escribe de otra forma en otro lugar',
  },
  noteWarnings: {
    'missing-date': 'falta la fecha',
    'guessed-date': 'la fecha es solo el año de un título',
    'future-date': 'la fecha es futura',
    'old-date': 'la fecha es anterior a 1900',
    'long-duration': 'dura más de seis horas',
    'short-duration': 'dura menos de un minuto',
    'several-names': '¿son varias personas en un nombre?',
    'similar-name': 'el nombre se escribe de otra forma en otro lugar',
  },
  byCode: {
    format: 'El valor no tiene el formato esperado.',
    'too-long': 'El texto es demasiado largo.',
    'too-short': 'El texto es demasiado corto.',
    'unknown-language':
      'No es el nombre en inglés ni el código de un idioma. Prueba con su código ISO 639.',
    'address-refused':
      'Ningún servidor público tiene ese nombre o dirección. Revísalo o envía el archivo.',
    unreachable: 'No se puede conectar con el servidor. Inténtalo más tarde o envía el archivo.',
    'not-found': 'El servidor no tiene ese archivo. Revisa la URL.',
    'bad-answer': 'El servidor ha dado una respuesta inesperada. Revisa la URL o envía el archivo.',
    'too-large': 'El archivo de esa URL es demasiado grande. Usa la orden «talkshelf import».',
    'too-slow': 'El servidor tarda demasiado. Inténtalo más tarde o envía el archivo.',
    'not-new': 'No se puede elegir un registro: la charla no es nueva.',
    'not-same': 'Un registro solo se puede elegir si es la misma charla.',
    'unknown-record': 'Ese registro no existe.',
    taken: 'Ese registro ya es el de otra charla de esta importación.',
  },
  ignoredCells: (count) =>
    `Se ignoran ${count} celdas vacías: se conservan los valores actuales. Para vaciar un campo, ` +
    'vacía su celda en una tabla exportada de aquí, con sus columnas id y updated.',

  talk: 'Charla',
  changes: 'Cambios',
  here: 'Actual',
  inFile: 'Archivo',
  emptyValue: '(vacío)',
  untitled: '(sin título)',
  record: (id) => `Registro ${id}`,
  facts: (count) => `${count} datos`,
  noSpeakers: 'sin ponentes',
  noDate: 'sin fecha',
  next: 'Charlas siguientes',
  first: 'Primeras charlas',
  fields: {
    title: 'Título',
    category: 'Evento',
    speakers: 'Ponentes',
    tags: 'Etiquetas',
    language: 'Idioma',
    recorded: 'Grabación',
    summary: 'Resumen',
    description: 'Descripción',
    duration: 'Duración',
    source_url: 'URL del vídeo',
    thumbnail_url: 'Imagen',
    copyright_text: 'Licencia',
    embed: 'Reproductor',
    state: 'Estado',
    facts: 'Datos',
    quality_notes: 'Problemas conocidos',
    whiteboard: 'Notas de los editores',
  },
  noteKinds: {
    refused: 'Rechazada',
    question: 'Pregunta',
    warning: 'Aviso',
    dropped: 'Descartado',
    guessed: 'Supuesto',
    repaired: 'Reparado',
  },

  undecided: (count) =>
    count === 1 ? '1 conflicto sin decisión.' : `${count} conflictos sin decisión.`,
  keepOurs: 'Conservar el nuestro',
  takeTheirs: 'Tomar el del archivo',
  fromImport: 'escrito por una importación anterior',
  acceptMatches: (count) =>
    count === 1
      ? 'Responder a 1 pregunta: la misma charla'
      : `Responder a ${count} preguntas: la misma charla`,
  sameTalk: 'La misma charla',
  otherTalk: 'Otra charla: crearla',
  saveDecision: 'Guardar la decisión',
  isRecord: 'Esta charla ya está aquí',
  recordId: 'Número de su registro',
  recordHelp: 'El número en la URL de su página. Vacío: según el plan.',
  decideAll: 'Decidir todos los conflictos',
  decideField: 'Campo',
  allFields: 'Todos los campos',
  keepAllOurs: 'Conservar siempre el nuestro',
  takeAllTheirs: 'Tomar siempre el del archivo',
  keys: 'Teclas: j y k van de conflicto en conflicto, 1 conserva el nuestro, 2 toma el del archivo.',

  actions: 'Acciones',
  apply: 'Aplicar',
  continue: 'Continuar',
  stop: 'Detener',
  undo: 'Deshacer',
  undoAgain: 'Deshacer el resto',
  redo: 'Aplicar de nuevo',
  discard: 'Eliminar esta importación',
  needsAdmin: 'Esta importación retira charlas. Solo un administrador puede aplicarla.',
  wrongState: 'Ya no es posible: la importación ha cambiado entretanto. Este es su estado actual.',
}
