import type { Messages } from './en.ts'

const count = (singular: string, plural: string) => (number: number, formatted: string) =>
  `${formatted} ${number === 1 ? singular : plural}`

/** The texts of the page of what is at risk, in Spanish. */
export const atRiskEs: Messages['atRisk'] = {
  title: 'Grabaciones en riesgo',
  intro:
    'Una grabación que solo tiene un operador se pierde si este la borra o cierra. Esta página ' +
    'muestra dónde podría pasar y dónde ha pasado.',
  oneOperator: count('charla en un solo operador', 'charlas en un solo operador'),
  unavailable: count(
    'charla sin ninguna grabación accesible',
    'charlas sin ninguna grabación accesible',
  ),
  checked: (checked, all) => `${checked} de ${all} grabaciones comprobadas`,
  unchecked:
    'Aún no se ha comprobado ninguna grabación: estas cifras cuentan direcciones, haya todavía un ' +
    'vídeo o no.',
  operatorsTitle: 'Charlas por número de operadores',
  operatorsHint: 'Los servidores de un mismo operador cuentan una vez.',
  operators: {
    none: 'Ninguno: no se conoce grabación o ninguna es accesible',
    one: 'Uno',
    two: 'Dos',
    three: 'Tres',
    more: 'Cuatro o más',
  },
  hostsTitle: 'Charlas que solo tiene un operador',
  hostsHint: 'Estas charlas no tienen copia en otro operador.',
  eventsTitle: 'Eventos en riesgo',
  eventsHint:
    'Parte de las charlas que tienen un operador o ninguno. Primero, los eventos con charlas sin ' +
    'ninguna grabación accesible.',
  lossesTitle: 'Grabaciones perdidas por mes',
  lossesHint: 'Grabaciones que desaparecieron de su servidor, cuando lo notamos.',
  noLosses: 'Todavía no se ha perdido ninguna grabación.',
  operator: 'Operador',
  only: 'Solo allí',
  notAvailable: 'No disponibles',
  firstRows: (count) =>
    `La tabla muestra los primeros ${count}. El archivo CSV tiene todas las charlas.`,
  atMostOne: 'Un operador como mucho',
  lost: 'Perdidas',
  returned: 'Recuperadas',
  csv: 'Todas las charlas en CSV',
}
