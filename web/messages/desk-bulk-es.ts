import type { BulkMessages } from './desk-bulk-en.ts'

/** The texts of bulk edits in the desk, in Spanish. */
export const bulkEs: BulkMessages = {
  // The list of talks
  columns: 'Columnas',
  columnNames: {
    speakers: 'Ponentes',
    event: 'Evento',
    date: 'Fecha',
    state: 'Estado',
    licence: 'Licencia',
  },
  talk: 'Charla',
  select: (title) => `Seleccionar ${title}`,
  selected: 'Seleccionada',
  editSelected: 'Editar estas',
  editAll: (count) => (count === undefined ? 'Editar toda la lista' : `Editar las ${count}`),

  // The form
  title: 'Editar charlas',
  talks: (text, count) =>
    count === 1 ? 'Hay 1 charla seleccionada.' : `Hay ${text} charlas seleccionadas.`,
  noTalks: 'No hay charlas seleccionadas. Vuelve a la lista y selecciona algunas.',
  tooMany: 'Hay más de 10 000 charlas seleccionadas, el límite de una edición. Acota la búsqueda.',
  help: 'Primero ves un plan. Ninguna charla cambia antes de que lo apliques.',
  change: (number) => `Cambio ${number}`,
  what: 'Qué cambiar',
  nothing: 'Ningún cambio',
  groups: {
    set: 'Establecer',
    clear: 'Vaciar',
    names: 'Ponentes y etiquetas',
    replace: 'Reemplazar texto',
  },
  operations: {
    set: 'Establecer',
    clear: 'Vaciar',
    add: 'Añadir a',
    remove: 'Quitar de',
    replace: 'Reemplazar en',
  },
  makeLive: 'Publicar',
  makeDraft: 'Convertir en borrador',
  value: 'Valor',
  valueHelp: 'El valor nuevo, el nombre o el texto que se reemplaza. Una fecha es AAAA-MM-DD.',
  replacement: 'Reemplazar por',
  replacementHelp:
    'Solo para reemplazar: cada aparición exacta, con mayúsculas y minúsculas tal cual.',
  missingValue: 'Escribe un valor. Para vaciar el campo, elige «Vaciar».',
  missingChange: 'Elige al menos un cambio.',
  showPlan: 'Mostrar el plan',

  // The plan
  number: (number) => `Edición múltiple ${number}`,
  byValue: 'Cambios por valor',
  valueCount: (count) => (count === 1 ? '1 charla' : `${count} charlas`),
  otherValues: (count) => (count === 1 ? '1 cambio más' : `${count} cambios más`),
  page: {
    import: (id) => `Edición múltiple ${id}`,
    here: 'Antes',
    inFile: 'Después',
    allRefused: 'Todas las charlas están rechazadas, así que no hay nada que aplicar.',
    discard: 'Borrar este plan',
    createsTitle: 'Nombres que crea la edición',
    readSoFar: (count) => `${count} charlas planificadas hasta ahora`,
  },
  stateHelp: {
    reading: 'El plan todavía se está haciendo. Aparecerá aquí.',
    failed: 'No se cambió nada. Planifica la edición de nuevo.',
    applying: 'Puedes cerrar esta página: la edición continúa.',
    applied: 'Se procesaron todas las charlas. Puedes deshacer la edición.',
    undone: 'La edición se deshizo. Puedes aplicarla de nuevo.',
  },
  verdictHelp: {
    conflict:
      'Estos campos cambiaron después de hacer el plan, así que las charlas se dejaron como están. ' +
      'Para cambiarlas de todos modos, planifica otra edición.',
    refused: 'Estas charlas se omiten, por los motivos indicados.',
  },
}
