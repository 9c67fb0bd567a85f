/** The texts of bulk edits in the desk. */
export const bulkEn = {
  // The list of talks
  columns: 'Columns',
  columnNames: {
    speakers: 'Speakers',
    event: 'Event',
    date: 'Date',
    state: 'State',
    licence: 'Licence',
  },
  talk: 'Talk',
  select: (title: string) => `Select ${title}`,
  selected: 'Selected',
  editSelected: 'Edit these',
  editAll: (count: string | undefined) =>
    count === undefined ? 'Edit all of this list' : `Edit all ${count}`,

  // The form
  title: 'Edit talks',
  talks: (text: string, count: number) =>
    count === 1 ? '1 talk is selected.' : `${text} talks are selected.`,
  noTalks: 'No talks are selected. Go back to the list and select some.',
  tooMany: 'More than 10,000 talks are selected, the limit of one edit. Narrow the search down.',
  help: 'You see a plan first. No talk changes before you apply it.',
  change: (number: number) => `Change ${number}`,
  what: 'What to change',
  nothing: 'No change',
  groups: { set: 'Set', clear: 'Clear', names: 'Speakers and tags', replace: 'Replace text' },
  operations: {
    set: 'Set',
    clear: 'Clear',
    add: 'Add to',
    remove: 'Remove from',
    replace: 'Replace in',
  },
  makeLive: 'Make live',
  makeDraft: 'Make a draft',
  value: 'Value',
  valueHelp: 'The new value, the name, or the text to replace. A date is YYYY-MM-DD.',
  replacement: 'Replace with',
  replacementHelp: 'Only to replace: every exact occurrence, upper and lower case as written.',
  missingValue: 'Enter a value. To empty the field, choose “Clear”.',
  missingChange: 'Choose at least one change.',
  showPlan: 'Show the plan',

  // The plan
  number: (number: string) => `Bulk edit ${number}`,
  byValue: 'Changes by value',
  valueCount: (count: number) => (count === 1 ? '1 talk' : `${count} talks`),
  otherValues: (count: number) => (count === 1 ? '1 other change' : `${count} other changes`),
  /** Replace the texts of imports on the page of a bulk edit. */
  page: {
    import: (id: number) => `Bulk edit ${id}`,
    here: 'Before',
    inFile: 'After',
    allRefused: 'All talks are refused, so nothing can be applied.',
    discard: 'Delete this plan',
    createsTitle: 'Names that the edit creates',
    readSoFar: (count: number) => `${count} talks planned so far`,
  },
  stateHelp: {
    reading: 'The plan is still being made. It appears here.',
    failed: 'Nothing was changed. Plan the edit again.',
    applying: 'You can close this page: the edit continues.',
    applied: 'All talks were processed. You can undo the edit.',
    undone: 'The edit was undone. You can apply it again.',
  },
  verdictHelp: {
    conflict:
      'These fields were changed after the plan was made, so the talks were left as they are. To ' +
      'change them all the same, plan another edit.',
    refused: 'These talks are skipped, for the reasons below.',
  },
}

export type BulkMessages = typeof bulkEn
