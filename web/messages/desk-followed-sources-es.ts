import type { FollowedSourceMessages } from './desk-followed-sources-en.ts'

/** The texts of followed sources in the desk. */
export const followedSourcesEs: FollowedSourceMessages = {
  title: 'Fuentes seguidas',
  one: (id) => `Fuente seguida ${id}`,
  link: 'Sigue una lista de reproducción o un programa: se descarga de nuevo y lo nuevo te espera.',
  fromSource: 'de una fuente seguida',
  help:
    'Una fuente seguida es un archivo en la web que se descarga con regularidad. Lo nuevo o ' +
    'cambiado se convierte en una importación que espera en la mesa. Nada se aplica sin ti.',
  off: 'Este servidor no sigue fuentes (FOLLOW_SOURCES=off). No descarga nada.',
  none: 'No se sigue ninguna fuente.',
  done: {
    'source-followed': 'Ahora sigues esta fuente. La primera descarga empieza en un momento.',
    'source-requested':
      'La descarga empieza en menos de un minuto. Recarga la página para ver el resultado.',
    'source-paused': 'La fuente está en pausa.',
    'source-resumed': 'La fuente se sigue de nuevo. Sus importaciones llevan ahora tu nombre.',
    'source-deleted': 'La fuente ya no se sigue.',
  },
  states: {
    active: 'Activa',
    failing: 'Con errores',
    paused: 'En pausa',
    disabled: 'Desactivada',
  },
  stateHelp: {
    active: 'Se descarga con regularidad.',
    failing:
      'La última descarga falló. Se reintenta, cada vez tras una espera más larga, de hasta una ' +
      'semana.',
    paused: 'No se descarga hasta que la reanudes.',
    disabled: 'Falló demasiadas veces y ya no se descarga. Corrige el problema y reanúdala.',
  },
  outcomes: {
    planned: 'Se planificó una importación',
    unchanged: 'Nada nuevo',
    waiting:
      'No se descargó: su última importación tiene decisiones o se está aplicando. Termínala antes',
    failed: 'Falló',
  },
  every: (hours) => (hours === '1' ? 'cada hora' : `cada ${hours} horas`),
  lastFetch: 'Última descarga',
  nextFetch: 'Próxima descarga',
  never: 'Todavía no se ha descargado',
  failures: (count) => `Fallos seguidos: ${count}`,
  waitingImport: (id) => `La importación ${id} te espera`,
  create: 'Seguir una fuente',
  url: 'URL',
  urlHelp:
    'Una URL http o https pública de un archivo que se pueda importar, como el programa de un ' +
    'evento o el JSON de una lista de reproducción.',
  interval: 'Horas entre dos descargas',
  intervalHelp: (min, max) => `De ${min} a ${max}.`,
  name: 'Nombre de sus importaciones',
  nameHelp: 'Por defecto: la URL.',
  settings: 'Ajustes',
  settingsHelp:
    'Si cambias la URL o las opciones, la fuente se descarga de nuevo en unos minutos, y sus ' +
    'importaciones llevan tu nombre.',
  actions: 'Acciones',
  fetchNow: 'Descargar ahora',
  fetchHelp:
    'Planifica el archivo aunque no haya cambiado, por ejemplo si eliminaste su importación por ' +
    'error. Como muy pronto, un minuto después de la última descarga.',
  pause: 'Pausar',
  resume: 'Reanudar',
  remove: 'Dejar de seguir',
  removeHelp: 'Sus importaciones se conservan, también las que te esperan.',
  errors: {
    url:
      'Escribe una URL que empiece por https:// o http://, en el puerto 443 u 80 y sin nombre de ' +
      'usuario.',
    interval: 'Escribe un número entero de horas.',
    tooMany: 'Se siguen demasiadas fuentes. Elimina una que no se use.',
  },
}
