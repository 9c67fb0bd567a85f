/** The texts of the quality lists and of merging talks. */
export const qualityEn = {
  title: 'Quality',
  homeLink: 'Find problems of the data and fix them.',
  done: {
    'talks-merged': 'The talks were merged. To undo it, open the history of the merged talk.',
    'talks-unmerged': 'The merge was undone: this is a talk of its own again.',
    fixed: 'Fixed.',
    'fixed-some': 'Fixed, except for talks that changed since the page was loaded.',
    'not-fixed': 'Nothing was fixed: the talk changed since the page was loaded.',
  } as Readonly<Record<string, string>>,

  // The lists
  help: 'Each list has the talks or names that break one rule. Drafts are included.',
  rule: 'Rule',
  findings: 'Findings',
  /** Translations by the name of the rule. The archive has the English texts. */
  rules: {} as Readonly<Record<string, { readonly title: string; readonly advice: string }>>,
  noFindings: 'No findings. Well done!',
  fix: 'Fix',
  fixTo: (value: string) => `Set to ${value}`,
  fixOf: (title: string) => `Fix: ${title}`,
  fixAll: (count: number) => (count === 1 ? 'Fix 1 talk' : `Fix all ${count} on this page`),
  compare: 'Compare and merge',
  compareWith: (title: string, id: number) => `Compare and merge: ${title} (${id})`,
  all: 'All rules',

  // Merging talks
  sameAs: 'Same talk as another record…',
  mergeTitle: (title: string) => `Merge talks: ${title}`,
  otherTalk: 'Number or URL of the other record',
  otherTalkHelp: 'Such as 412, or the address of its page.',
  otherTalkMissing: 'Enter the number or the URL of another talk.',
  show: 'Compare',
  mergeHelp:
    'One record is kept. The other one becomes a draft, and its address redirects to the kept one.',
  keep: (id: number) => `Record ${id}, which is kept`,
  merge: (id: number) => `Record ${id}, which is merged`,
  swap: 'Keep the other record instead',
  both: 'Both',
  sameFields: (count: number) =>
    count === 1 ? '1 other field is the same.' : `${count} other fields are the same.`,
  changed: 'Nothing was merged: one of the talks changed meanwhile. Compare them again.',
  result: 'Result',
  preview: 'Show the result',
  mergeButton: 'Merge',
  mergedInto: (id: number) => `This talk was merged into record ${id}.`,
  mergedHere: (id: number) => `Merged: ${id}`,
  unmerge: 'Undo the merge',
  unmergeHelp:
    'This record becomes a talk of its own again. What the kept record got stays there: revert ' +
    'that change in its history.',
}

export type QualityMessages = typeof qualityEn
