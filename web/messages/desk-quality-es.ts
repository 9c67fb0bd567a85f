import type { QualityMessages } from './desk-quality-en.ts'

export const qualityEs: QualityMessages = {
  title: 'Calidad',
  homeLink: 'Encuentra problemas en los datos y corrígelos.',
  done: {
    'talks-merged':
      'Las charlas se unieron. Para deshacerlo, abre el historial de la charla unida.',
    'talks-unmerged': 'La unión se deshizo: esta vuelve a ser una charla propia.',
    fixed: 'Corregido.',
    'fixed-some': 'Corregido, salvo las charlas que cambiaron desde que se cargó la página.',
    'not-fixed': 'No se corrigió nada: la charla cambió desde que se cargó la página.',
  },

  help: 'Cada lista tiene las charlas o nombres que incumplen una regla. Incluye los borradores.',
  rule: 'Regla',
  findings: 'Casos',
  rules: {
    'no-speaker': {
      title: 'Sin ponente',
      advice: 'Añade los ponentes. Mira el título, la descripción o el programa del evento.',
    },
    'no-licence': {
      title: 'Sin licencia',
      advice: 'Añade la licencia de la grabación. El sitio del vídeo suele mostrarla.',
    },
    'no-duration': {
      title: 'Sin duración',
      advice: 'Añade la duración de la grabación.',
    },
    'duration-in-minutes': {
      title: 'Una duración que parece estar en minutos',
      advice: 'Compárala con la grabación. Las duraciones se guardan en segundos.',
    },
    'duration-too-long': {
      title: 'Una duración de más de seis horas',
      advice: 'Compárala con la grabación. Las sumas no incluyen estas duraciones.',
    },
    'no-date': {
      title: 'Sin fecha',
      advice: 'Añade el día de la grabación. Mira el programa del evento.',
    },
    'no-description': {
      title: 'Sin descripción',
      advice: 'Añade un resumen o una descripción, para que la charla se encuentre por su tema.',
    },
    'no-thumbnail': {
      title: 'Sin miniatura',
      advice: 'Añade la dirección de una imagen pequeña de la grabación.',
    },
    'speaker-spellings': {
      title: 'Ponentes con varias grafías',
      advice: 'Si son la misma persona, únelos con la API: POST a /api/v2/speaker/{slug}/merge.',
    },
    'tag-spellings': {
      title: 'Etiquetas con varias grafías',
      advice: 'Si significan lo mismo, únelas con la API: POST a /api/v2/tag/{slug}/merge.',
    },
    'same-source': {
      title: 'El mismo vídeo en varios registros',
      advice:
        'Deja un registro por charla. Si son charlas distintas, corrige sus vídeos o indica ' +
        'dónde empieza cada una.',
    },
    'same-talk': {
      title: 'El mismo título y ponentes en varios eventos',
      advice: 'Mira si la charla se dio varias veces, o si un registro está en otro evento.',
    },
    'source-away': {
      title: 'El vídeo ya no está',
      advice:
        'Busca otra copia y corrige la dirección. Si sabes que el vídeo está, fija su estado en la ' +
        'página de enlaces.',
    },
    'source-suspect': {
      title: 'Puede que el vídeo ya no esté',
      advice:
        'La última comprobación salió mal. Espera a las siguientes, o mira tú y fija el estado. El ' +
        'público aún no lo ve.',
    },
    'one-host': {
      title: 'El vídeo está en un solo sitio',
      advice:
        'Si este sitio cierra, la charla se pierde. Añade otra copia como hecho `media`. No ' +
        'incluye borradores.',
    },
    'replacement-open': {
      title: 'Una copia espera una decisión',
      advice: 'Mira ambas y acepta o rechaza la copia en la primera página de la mesa.',
    },
  },
  noFindings: 'Ningún caso. ¡Bien hecho!',
  fix: 'Corregir',
  fixTo: (value) => `Poner ${value}`,
  fixOf: (title) => `Corregir: ${title}`,
  fixAll: (count) => (count === 1 ? 'Corregir 1 charla' : `Corregir las ${count} de esta página`),
  compare: 'Comparar y unir',
  compareWith: (title, id) => `Comparar y unir: ${title} (${id})`,
  all: 'Todas las reglas',

  sameAs: 'Es la misma charla que otro registro…',
  mergeTitle: (title) => `Unir charlas: ${title}`,
  otherTalk: 'Número o URL del otro registro',
  otherTalkHelp: 'Por ejemplo 412, o la dirección de su página.',
  otherTalkMissing: 'Escribe el número o la URL de otra charla.',
  show: 'Comparar',
  mergeHelp:
    'Un registro se conserva. El otro queda como borrador y su dirección redirige al conservado.',
  keep: (id) => `Registro ${id}, que se conserva`,
  merge: (id) => `Registro ${id}, que se une`,
  swap: 'Conservar el otro registro',
  both: 'Ambos',
  sameFields: (count) =>
    count === 1 ? 'Otro campo es igual.' : `Otros ${count} campos son iguales.`,
  changed: 'No se unió nada: una de las charlas cambió entretanto. Compáralas otra vez.',
  result: 'Resultado',
  preview: 'Mostrar el resultado',
  mergeButton: 'Unir',
  mergedInto: (id) => `Esta charla se unió al registro ${id}.`,
  mergedHere: (id) => `Unido: ${id}`,
  unmerge: 'Deshacer la unión',
  unmergeHelp:
    'Este registro vuelve a ser una charla propia. Lo que recibió el registro conservado se queda ' +
    'allí: revierte ese cambio en su historial.',
}
