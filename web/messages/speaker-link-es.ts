import type { SpeakerLinkMessages } from './speaker-link-en.ts'

export const speakerLinkEs: SpeakerLinkMessages = {
  title: (name) => `Tus charlas, ${name}`,
  help:
    'Una persona que edita este archivo te envió este enlace. Solo quien lo tiene ve esta página. ' +
    'Nada cambia antes de que alguien del equipo lo revise.',
  talks: 'Tus charlas',
  noTalks: 'No hay ninguna charla tuya en este archivo.',
  confirm: 'Las charlas elegidas están bien',
  confirmed: (day) => `La confirmaste el ${day}.`,
  correct: (title) => `Corregir ${title}`,
  correctLink: 'Corregir',
  correctTitle: (title) => `Corregir: ${title}`,
  comment: 'Otra cosa',
  send: 'Enviar',
  back: 'Volver a tus charlas',
  removeTalk: 'Por favor, retirad esta charla',
  removeWhy: 'Por qué',
  profile: 'Tu perfil',
  noProfile: 'Tu perfil está vacío.',
  profileWords: '¿Qué debería decir?',
  name: 'Tu nombre ha cambiado',
  nameHelp:
    'Una persona del equipo puede eliminar tu nombre anterior de todas las charlas, los textos y ' +
    'el historial. Escribe los dos nombres. Tus palabras se borran cuando esté hecho.',
  nameWords: 'Nombre anterior y nombre nuevo',
  removal: 'Retirada',
  removalHelp: '¿Quieres que se retire más que una sola charla? Dinos qué.',
  removalWords: 'Qué debería retirarse y por qué',
  done: {
    confirmed: 'Gracias. Las charlas quedan confirmadas.',
    changed:
      'Algunas charlas cambiaron desde que abriste esta página y no quedan confirmadas. ' +
      'Vuelve a mirarlas.',
    sent: 'Gracias. Alguien del equipo lo mirará.',
    empty: 'No cambiaste nada. Corrige un campo o escribe algo.',
    full: 'Demasiadas peticiones tuyas esperan. Inténtalo más tarde.',
  },
}
