import type { Endpoint } from './endpoint.ts'

// The API by resource: the tags of the OpenAPI document and the groups of the reference page.

interface Resource {
  /** Generators derive the names of files and classes from it. */
  readonly tag: string
  readonly title: string
  readonly description: string
}

/** By the first segment of a path below /api/v2, in the order of the reference. */
const resources: Readonly<Record<string, Resource>> = {
  video: {
    tag: 'videos',
    title: 'Videos',
    description: 'The records of recorded talks, with their revisions, facts and related talks.',
  },
  category: {
    tag: 'categories',
    title: 'Categories',
    description: 'The events and groups that talks belong to, and their schedules.',
  },
  speaker: { tag: 'speakers', title: 'Speakers', description: 'The people who gave the talks.' },
  tag: { tag: 'tags', title: 'Tags', description: 'The subjects of the talks.' },
  language: { tag: 'languages', title: 'Languages', description: 'The languages of the talks.' },
  picture: {
    tag: 'pictures',
    title: 'Pictures',
    description: 'Uploaded logos of events and pictures of speakers.',
  },
  import: {
    tag: 'imports',
    title: 'Imports',
    description: 'Files with talks: planned, reviewed, applied and undone.',
  },
  'followed-source': {
    tag: 'followed-sources',
    title: 'Followed sources',
    description: 'Playlists and schedules that are fetched again on a schedule.',
  },
  edit: {
    tag: 'bulk-edits',
    title: 'Bulk edits',
    description: 'The same change of many records, planned as an import.',
  },
  match: {
    tag: 'matches',
    title: 'Matches',
    description: 'The talks of a schedule, paired with the recordings of a playlist.',
  },
  suggest: { tag: 'search', title: 'Autocomplete', description: 'Autocomplete for searches.' },
  synonym: { tag: 'synonyms', title: 'Synonyms', description: 'Terms with the same meaning.' },
  suggestion: {
    tag: 'suggestions',
    title: 'Suggestions',
    description: 'Corrections that readers suggest and editors decide.',
  },
  changes: {
    tag: 'changes',
    title: 'Change feed',
    description: 'Every change of what anyone can read, in order.',
  },
  webhook: {
    tag: 'webhooks',
    title: 'Webhooks',
    description: 'The change feed, posted to URLs.',
  },
  source: {
    tag: 'sources',
    title: 'Sources',
    description: 'Where videos are, and whether they are still there.',
  },
  replacement: {
    tag: 'replacements',
    title: 'Replacements',
    description: 'Copies of videos that are gone or at one place only: editors decide.',
  },
  quality: {
    tag: 'quality',
    title: 'Quality',
    description: 'Data-quality problems in the archive, by rule.',
  },
  person: { tag: 'people', title: 'People', description: 'People who can sign in.' },
  audit: {
    tag: 'audit-log',
    title: 'Audit log',
    description: 'Invitations, sign-ins, roles and tokens.',
  },
  'openapi.json': { tag: 'openapi', title: 'OpenAPI', description: 'This document.' },
  'export.ndjson': {
    tag: 'exports',
    title: 'Exports',
    description: 'The whole archive as NDJSON.',
  },
}

/** Returns the resource that an endpoint belongs to. */
export function resourceOf({ path }: Endpoint): Resource {
  const resource = resources[path.split('/')[3] ?? '']
  if (!resource) throw new Error(`contract/resources.ts has no resource for ${path}`)
  return resource
}
