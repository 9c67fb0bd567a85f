/** What sessions are called that every event has. */
const genericWords = new Set(
  (
    'a and at by de del for from in la of on our the to with y remarks address speech session ' +
    'sessions day panel panels discussion discussions keynote keynotes keynoter opening closing ' +
    'welcome intro introduction conclusion ceremony lightning talk talks flash lightening ' +
    'announcements announcement plenary sprint sprints orientation q qa questions answers ask me ' +
    'anything ama interview interviews award awards update updates community meeting final ' +
    'speaker speakers main conference event live stream track room part round block bienvenida ' +
    'charlas charla relampago apertura cierre inauguracion clausura mesa redonda palestra ' +
    'palestras relampago abertura encerramento bem vindo lightnings eroffnung abschluss ' +
    'begrussung ouverture cloture bienvenue mot fin benvenuto chiusura morning afternoon evening ' +
    'monday tuesday wednesday thursday friday saturday sunday first second third 1 2 3 4 5 6'
  ).split(' '),
)

/** What stands for speakers who are not named. */
export const placeholders: ReadonlySet<string> = new Set([
  'various',
  'speakers',
  'speaker',
  'presenters',
  'tba',
  'tbd',
  'tbc',
])

/** Tells whether a word says nothing about a talk: of a session that every event has, or "by". */
export const isGenericWord = (word: string) => genericWords.has(word)
