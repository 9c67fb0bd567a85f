// Who may import whom. Type-only imports count: a type is knowledge too.
// tests/project/rules.test.ts breaks each rule once.

const ours = '^(contract|client|server|web)/'
const test = '[.]test[.]ts$'
// A feature is a folder directly under server/; platform and migrations are none.
const feature = '^server/(?!platform/|migrations/|node_modules/)([^/]+)/'
const npm = (name) => `(^|/)node_modules/(@types/)?${name}/`

const forbidden = [
  {
    name: 'no-cycles',
    comment: 'Two files that need each other are one file, or a third one is missing.',
    from: {},
    to: { circular: true },
  },
  {
    name: 'contract-stands-alone',
    comment: 'The contract is what we promise; it must not know who keeps the promise.',
    from: { path: '^contract/' },
    to: { path: '^(client|server|web)/' },
  },
  {
    name: 'client-knows-only-the-contract',
    from: { path: '^client/' },
    to: { path: '^(server|web)/' },
  },
  {
    name: 'web-knows-only-the-contract',
    from: { path: '^web/' },
    to: { path: '^(client|server)/' },
  },
  {
    name: 'platform-knows-no-feature',
    comment:
      'The platform names no video. It also does not know the app, the command or their configuration: it is given what it needs.',
    from: { path: '^server/platform/' },
    to: { path: ['^server/[^/]+[.]ts$', feature] },
  },
  {
    name: 'features-meet-at-the-front-door',
    comment: 'The front door is the file named like its folder: server/videos/videos.ts.',
    from: { path: feature },
    to: { path: feature, pathNot: ['^server/$1/', '^server/([^/]+)/\\1[.]ts$'] },
  },
  {
    name: 'sql-only-in-queries',
    from: { pathNot: ['(^|/)queries[.]ts$', '^server/platform/db/', '^tests/'] },
    to: { path: npm('sql-template-tag') },
  },
  {
    name: 'fastify-only-at-the-edge',
    from: {
      pathNot: [
        '^server/app[.]ts$',
        '^server/routes[.]ts$',
        '^server/.+/routes[.]ts$',
        '^server/platform/http/',
      ],
    },
    to: { path: npm('fastify') },
  },
  {
    name: 'pg-only-in-the-platform',
    from: { pathNot: ['^server/platform/db/', '^tests/', test] },
    to: { path: npm('pg') },
  },
  {
    name: 'no-test-code-in-production',
    comment: 'Only a test may know what tests share.',
    from: { path: ours, pathNot: test },
    to: { path: '^tests/' },
  },
  {
    name: 'nobody-imports-a-test',
    comment:
      'The tests in it would run once more, under another name. What tests share lives in tests/, in a file that is no test.',
    from: {},
    to: { path: test },
  },
  {
    name: 'no-development-packages-in-production',
    comment:
      'Who installs a package of ours gets its own dependencies only, so each package.json lists what its files import.',
    from: { path: ours, pathNot: test },
    to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'npm-optional'] },
  },
  {
    name: 'no-unresolvable-imports',
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: 'no-orphans',
    comment: 'A file that imports nothing and that nothing imports is left over.',
    // The build puts nonce.ts into what it takes from others.
    from: { orphan: true, pathNot: ['^[.]', '^web/islands/nonce[.]ts$'] },
    to: {},
  },
]

module.exports = {
  forbidden: forbidden.map((rule) => ({ severity: 'error', ...rule })),
  options: {
    // TypeScript 7 has no parser for others to use. Without swc, no .ts file would be looked at,
    // and nobody would be told. swc sees type-only imports by itself; tsPreCompilationDeps would
    // only ask for an older TypeScript.
    parser: 'swc',
    // The folders of the workspace are links in node_modules: follow them to the files we write.
    preserveSymlinks: false,
    exclude: { path: ['(^|/)[.]git/', '^(web/)?dist/'] },
    doNotFollow: { path: '(^|/)node_modules/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
      mainFields: ['module', 'main', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json', '.d.ts'],
    },
    skipAnalysisNotInRules: true,
  },
}
