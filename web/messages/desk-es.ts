import type { DeskMessages } from './desk-en.ts'
import { importsEs } from './desk-imports-es.ts'

export const deskEs: DeskMessages = {
  skip: 'Ir al contenido',
  desk: 'Redacción',
  deskMenu: 'Menú de redacción',
  backToArchive: 'Volver al archivo',
  people: 'Personas',
  tokens: 'Tokens',
  audit: 'Registro de auditoría',
  account: 'Tu cuenta',
  signOut: 'Cerrar sesión',
  signedInAs: (name) => `Sesión de ${name}`,
  roles: { suggester: 'Colaborador', editor: 'Editor', admin: 'Administrador' },
  roleHelp: {
    suggester: 'Propone correcciones. Las páginas para ello todavía no existen.',
    editor: 'Cambia charlas, eventos, ponentes y etiquetas; por ahora solo con un token.',
    admin: 'Además retira charlas y gestiona personas y tokens.',
  },
  name: 'Nombre',
  role: 'Función',
  mail: 'Correo electrónico',
  optional: 'opcional',
  created: 'Creado',
  lastUsed: 'Último uso',
  lastSeen: 'Última visita',
  never: 'Nunca',
  save: 'Guardar',
  remove: 'Quitar',
  copy: 'Copiar',
  copied: 'Copiado',
  done: {
    'signed-out': 'Has cerrado la sesión.',
    saved: 'Guardado.',
    'passkey-added': 'Llave de acceso añadida.',
    'passkey-removed': 'Llave de acceso eliminada.',
    'session-ended': 'La sesión se ha cerrado.',
    'sessions-ended': 'Las sesiones se han cerrado.',
    disabled: 'Esta persona ya no puede iniciar sesión.',
    enabled: 'Esta persona puede volver a iniciar sesión.',
    revoked: 'El token se ha revocado.',
    ...importsEs.done,
  },

  welcome: (name) => `Hola, ${name}`,
  homeHelp: 'Aquí gestionas quién puede cambiar el archivo.',
  homeNothing: 'Todavía no hay nada que hacer aquí para tu función.',
  addPasskeyFirst: 'Añade una llave de acceso para volver a entrar sin un enlace.',

  signIn: 'Iniciar sesión',
  signInWithPasskey: 'Iniciar sesión con una llave de acceso',
  noPasskey: '¿No hay ninguna llave en este dispositivo?',
  noPasskeyHelp:
    'Pide un enlace a un administrador. Los operadores lo crean con «talkshelf person link».',
  scriptsNeeded: 'Las llaves de acceso necesitan JavaScript. Sin él, entra con un enlace.',
  passkeysUnsupported:
    'Aquí no funcionan las llaves de acceso: necesitan un navegador reciente, HTTPS y un nombre de ' +
    'servidor. Entra con un enlace y su código.',
  passkeyCancelled: 'No se ha usado la llave de acceso. Inténtalo de nuevo.',
  passkeyExists: 'Este dispositivo ya tiene una llave de acceso para tu cuenta.',
  linkTitle: (name) => `Hola, ${name}`,
  linkHelp:
    'Crea una llave de acceso para entrar: tu huella, tu cara, un PIN o una llave de seguridad. ' +
    'No hay contraseña. El enlace funciona una sola vez.',
  createPasskey: 'Crear una llave de acceso y entrar',
  withoutPasskey: 'Entrar sin llave de acceso',
  codeHelp: 'Escribe el código de seis cifras que recibiste con el enlace.',
  code: 'Código',
  confirmTitle: 'Confirma que eres tú',
  confirmHelp:
    'Confirma con tu llave de acceso para gestionar personas, tokens y llaves. Vale 10 minutos. Si ' +
    'acabas de enviar un formulario, envíalo otra vez después.',
  confirmFirst: 'Confirma que eres tú para añadir o quitar llaves de acceso',
  confirm: 'Confirmar con una llave de acceso',
  confirmWithoutPasskey:
    'No tienes ninguna llave de acceso para este sitio y entraste hace más de 10 minutos. Vuelve a ' +
    'entrar con un enlace nuevo y añade una llave enseguida.',
  refused: {
    link:
      'Este enlace ya no funciona: se usó, caducó, fue sustituido o tuvo demasiados códigos ' +
      'erróneos. Pide otro.',
    code: 'El código no es correcto. Tras cinco códigos erróneos el enlace deja de funcionar.',
    passkey: 'La llave de acceso no se ha aceptado. Inténtalo de nuevo.',
    'unknown-passkey':
      'Esta llave de acceso no se conoce aquí. Se eliminó, o pertenece a otra dirección del ' +
      'archivo. Pide un enlace.',
  },

  passkeys: 'Llaves de acceso',
  passkeysNone: 'Todavía no tienes ninguna llave de acceso.',
  passkeysHelp: 'Añade una por cada dispositivo que no comparta las llaves con los demás.',
  passkeyName: 'Nombre de la llave',
  defaultPasskeyName: 'Llave de acceso',
  addPasskey: 'Añadir una llave de acceso',
  otherHost: (host) => `para ${host}`,
  sessions: 'Sesiones',
  thisSession: 'Esta sesión',
  signedInWith: { link: 'enlace', passkey: 'llave de acceso' },
  endSession: 'Cerrar la sesión',
  endOtherSessions: 'Cerrar las demás sesiones',

  invite: 'Invitar a una persona',
  inviteHelp: 'Recibirás un enlace para enviar. Funciona una vez, durante siete días.',
  inviteButton: 'Invitar',
  disabled: 'Desactivada',
  passkeyCount: (count) => (count === 1 ? '1 llave de acceso' : `${count} llaves de acceso`),
  linkCreated: (name) => `Envía este enlace a ${name}`,
  linkCreatedHelp:
    'Sirve para entrar una vez, durante siete días, y no se vuelve a mostrar. Envíalo en un ' +
    'mensaje privado.',
  linkCode: 'Código, solo necesario sin llave de acceso',
  events: 'Eventos',
  eventsHelp:
    'Quien propone cambios edita las charlas de estos eventos y de ningún otro. Quienes editan y ' +
    'administran editan todas las charlas.',
  event: 'Título del evento',
  addEvent: 'Añadir evento',
  editorOf: (event: string) => `edita ${event}`,
  newLink: 'Nuevo enlace de entrada',
  newLinkHelp:
    'Para otro dispositivo, o si se perdió una llave. Los enlaces anteriores dejan de funcionar.',
  endSessions: 'Cerrar todas las sesiones',
  disable: 'Desactivar',
  disableHelp: 'Su sesión se cierra enseguida y ya no puede entrar. El historial se conserva.',
  enable: 'Activar',
  yourself: 'Eres tú. Otro administrador puede cambiar tu función.',

  tokensHelp: 'Un token permite a un programa usar la API. Se muestra una vez, al crearlo.',
  newToken: 'Nuevo token',
  tokenFor: 'Persona o programa',
  days: 'Días de validez',
  createToken: 'Crear token',
  tokenCreated: (name) => `Token para ${name}`,
  tokenCreatedHelp: 'Guárdalo ahora. No se vuelve a mostrar.',
  expires: 'Caduca',
  revoked: 'Revocado',
  revoke: 'Revocar',

  auditHelp:
    'Quién fue invitado, entró o cambió, durante dos años. Los cambios de las charlas están en ' +
    'su historial.',
  auditEmpty: 'Todavía no hay nada.',
  when: 'Cuándo',
  who: 'Quién',
  what: 'Qué',
  details: 'Detalles',
  older: 'Anteriores',
  auditKinds: {
    'person-invited': 'invitó a',
    'person-changed': 'cambió a',
    'person-disabled': 'desactivó a',
    'person-enabled': 'activó a',
    'event-editor-added': 'dio un evento a',
    'event-editor-removed': 'quitó un evento a',
    'link-created': 'creó un enlace para',
    'signed-in': 'entró',
    'signed-out': 'salió',
    'sessions-ended': 'cerró las sesiones de',
    'passkey-added': 'añadió una llave de acceso',
    'passkey-removed': 'eliminó una llave de acceso',
    'token-created': 'creó un token',
    'token-revoked': 'revocó un token',
  },

  imports: importsEs,

  forbiddenTitle: 'No puedes hacer eso',
  forbiddenHelp: (role) => `Tu función es ${role}. Pide otra a un administrador.`,
}
