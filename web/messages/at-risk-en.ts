const count = (singular: string, plural: string) => (number: number, formatted: string) =>
  `${formatted} ${number === 1 ? singular : plural}`

/** The texts of the page of what is at risk. */
export const atRiskEn = {
  title: 'Recordings at risk',
  intro:
    'A recording that only one operator has is lost when that operator deletes it or closes. ' +
    'This page shows where that could happen, and where it did.',
  oneOperator: count('talk at one operator only', 'talks at one operator only'),
  unavailable: count(
    'talk with no recording that can be reached',
    'talks with no recording that can be reached',
  ),
  checked: (checked: string, all: string) => `${checked} of ${all} recordings checked`,
  unchecked:
    'No recording has been checked yet: these figures count addresses, whether or not a video is ' +
    'still there.',
  operatorsTitle: 'Talks by number of operators',
  operatorsHint: 'Hosts of the same operator count once.',
  operators: {
    none: 'None: no recording known, or none that can be reached',
    one: 'One',
    two: 'Two',
    three: 'Three',
    more: 'Four or more',
  },
  hostsTitle: 'Talks that only one operator has',
  hostsHint: 'These talks have no copy at another operator.',
  eventsTitle: 'Events at risk',
  eventsHint:
    'Share of the talks that have one operator or none. Events with recordings that cannot be ' +
    'reached come first.',
  lossesTitle: 'Recordings lost by month',
  lossesHint: 'Recordings that disappeared from their host, when we noticed it.',
  noLosses: 'No recording has been lost so far.',
  operator: 'Operator',
  only: 'Only there',
  notAvailable: 'Not available',
  firstRows: (count: string) => `The table lists the first ${count}. The CSV file has all talks.`,
  atMostOne: 'At most one operator',
  lost: 'Lost',
  returned: 'Came back',
  csv: 'All talks as CSV',
}
