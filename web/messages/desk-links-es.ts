import type { LinkMessages } from './desk-links-en.ts'

/** The texts of links in the desk. */
export const linksEs: LinkMessages = {
  title: 'Enlaces',
  homeLink: 'Mira qué vídeos ya no están y qué dicen sus sitios.',
  help:
    'Los lugares donde están los vídeos y si siguen ahí. Un vídeo solo se marca como desaparecido ' +
    'tras varias comprobaciones en días distintos. El público no ve lo que solo se sospecha.',
  off:
    'Este servidor no comprueba enlaces (CHECK_LINKS=off). Si ningún otro lo hace, los estados ' +
    'solo cambian si los fijas.',
  done: {
    'check-requested':
      'La fuente se comprobará en cuanto lo permita el límite de solicitudes a su sitio. Recarga la ' +
      'página más tarde.',
    'source-pinned': 'El estado está fijado.',
    'pin-ended': 'El estado ya no está fijado. La fuente se comprueba en menos de una hora.',
    'replacement-accepted':
      'La copia se aceptó. Una dirección que sustituyó se puede revertir en el historial de la ' +
      'charla; una copia que se añadió se puede quitar de sus datos, con la API.',
    'replacement-refused': 'La copia se rechazó. No se propondrá otra vez para esta charla.',
    'replacement-impossible': 'No se cambió nada: la charla cambió mientras tanto.',
  },
  states: {
    new: 'Sin comprobar',
    ok: 'Está',
    suspect: 'Dudosa',
    unreachable: 'El sitio no responde',
    'embed-off': 'Solo en su sitio',
    region: 'No en todos los países',
    age: 'Solo para adultos',
    moved: 'Trasladada',
    gone: 'Desaparecida',
    private: 'Privada',
    removed: 'Retirada',
    closed: 'Cuenta cerrada',
  },
  verdicts: {
    ok: 'está',
    'embed-off': 'solo se ve en su sitio',
    region: 'no en todos los países',
    age: 'solo para adultos',
    moved: 'en otra dirección',
    gone: 'desaparecida',
    private: 'privada',
    removed: 'retirada',
    closed: 'cuenta cerrada',
    odd: 'respuesta poco clara',
    refused: 'el sitio se negó o falló',
  },
  since: (age) => `desde ${age}`,
  hosts: 'Sitios',
  host: 'Sitio',
  groups: {
    suspect: 'Dudosas',
    unreachable: 'Sin respuesta',
    limited: 'Limitadas',
    away: 'Desaparecidas',
  },
  paused: (time) => `Se negó y no se le pregunta antes del ${time}.`,
  pinHost: 'Decidir para todo el sitio…',
  pinHostOf: (host) => `Decidir para todo el sitio: ${host}`,
  pinHostHelp: (max) =>
    'Para un sitio que desapareció para siempre: fija todas sus fuentes, también las que no están ' +
    `en la lista. Como máximo ${max} a la vez; repítelo para las demás. Cada cambio está en el ` +
    'historial.',
  pinAll: 'Fijar todas las fuentes',
  endAllPins: 'Dejar de fijar las fuentes del sitio',
  pinned: (count, number, left) =>
    `${count === 1 ? 'Se cambió 1 fuente' : `Se cambiaron ${number} fuentes`}. Quedan: ${left}.`,
  repeat: 'Envía otra vez el formulario del sitio para las que quedan.',
  list: 'Fuentes',
  filter: 'Filtrar',
  state: 'Estado',
  allStates: 'Todas las fuentes con problemas',
  event: 'Evento',
  unknownEvent: 'No hay ningún evento con este título.',
  none: 'No hay fuentes así. Que se sepa, todo está bien.',
  ofTalk: 'Fuentes de una charla',
  showAll: 'Mostrar todas las fuentes con problemas',
  watch: 'Ver',
  evidence: 'Lo que dijo el sitio',
  checks: 'Últimas comprobaciones',
  noChecks: 'Sin comprobar',
  nextCheck: 'Próxima comprobación',
  due: 'cuanto antes',
  talks: 'Charlas',
  check: 'Comprobar ahora',
  checkOf: (url) => `Comprobar ahora: ${url}`,
  pin: 'Fijar…',
  pinOf: (url) => `Fijar el estado: ${url}`,
  pinHelp: 'El estado se queda hasta que acabe el día, digan lo que digan las comprobaciones.',
  until: 'Último día',
  untilError: 'Escribe un día que no haya pasado.',
  pinButton: 'Fijar',
  pinnedUntil: (day) => `Fijado hasta el ${day}`,
  endPin: 'Dejar de fijar',
  endPinOf: (url) => `Dejar de fijar: ${url}`,
  nextPage: 'Más fuentes',
  health: 'Dónde está el vídeo',
  noSources: 'La charla no tiene ningún vídeo que se pueda comprobar.',
  checked: (age) => `comprobada ${age}`,
  manage: 'Comprobar o fijar estas fuentes',
  replacements: 'Copias de vídeos',
  replacementCount: (count, number) => (count === 1 ? '1 copia' : `${number} copias`),
  replacementsHelp:
    'Encontradas para vídeos que ya no están o que solo están en un lugar. Mira ambos antes de ' +
    'decidir.',
  finders: {
    'archive.org': 'encontrada en archive.org',
    wayback: 'encontrada en la Wayback Machine',
    import: 'de una importación',
  },
  lost: 'Ahora',
  copy: 'Copia',
  effects: {
    replaces: 'Aceptarla sustituye la dirección del vídeo.',
    adds: 'Aceptarla añade la copia. La dirección del vídeo se queda.',
    nothing: 'La charla ya tiene esta copia.',
  },
  accept: 'Aceptar',
  acceptOf: (title) => `Aceptar la copia: ${title}`,
  notSaved: 'La decisión no se guardó:',
  refuse: 'Rechazar',
  refuseOf: (title) => `Rechazar la copia: ${title}`,
}
