// Import rules of the repository. Type-only imports count too.
// tests/project/rules.test.ts tests each rule.

const packages = '^(contract|client|server|web)/'
const test = '[.]test[.]ts$'
// Every folder directly under server/ is a feature, except for platform and migrations.
const feature = '^server/(?!platform/|migrations/|node_modules/)([^/]+)/'
const npm = (name) => `(^|/)node_modules/(@types/)?${name}/`

const forbidden = [
  {
    name: 'no-cycles',
    comment: 'Merge files that import each other, or move what they share to a third file.',
    from: {},
    to: { circular: true },
  },
  {
    name: 'contract-is-independent',
    comment: 'The contract describes the API; it must not depend on an implementation.',
    from: { path: '^contract/' },
    to: { path: '^(client|server|web)/' },
  },
  {
    name: 'client-imports-only-contract',
    from: { path: '^client/' },
    to: { path: '^(server|web)/' },
  },
  {
    name: 'web-imports-only-contract',
    from: { path: '^web/' },
    to: { path: '^(client|server)/' },
  },
  {
    name: 'platform-imports-no-feature',
    comment:
      'The platform is generic. It gets what it needs from features, the app and the ' +
      'configuration as parameters.',
    from: { path: '^server/platform/' },
    to: { path: ['^server/[^/]+[.]ts$', feature] },
  },
  {
    name: 'features-import-public-api-only',
    comment:
      'The public API of a feature is the file with the name of its folder, such as ' +
      'server/videos/videos.ts.',
    from: { path: feature },
    to: { path: feature, pathNot: ['^server/$1/', '^server/([^/]+)/\\1[.]ts$'] },
  },
  {
    name: 'sql-only-in-queries',
    comment: 'Write SQL in the queries.ts of a feature.',
    from: { pathNot: ['(^|/)queries[.]ts$', '^server/platform/db/', '^tests/'] },
    to: { path: npm('sql-template-tag') },
  },
  {
    name: 'fastify-only-in-routes',
    comment: 'Features must not depend on HTTP outside of their routes.ts.',
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
    name: 'pg-only-in-platform',
    comment: 'Features use the interfaces in server/platform/db instead of the driver.',
    from: { pathNot: ['^server/platform/db/', '^tests/', test] },
    to: { path: npm('pg') },
  },
  {
    name: 'no-test-code-in-production',
    comment: 'Only tests may import helpers from tests/.',
    from: { path: packages, pathNot: test },
    to: { path: '^tests/' },
  },
  {
    name: 'no-import-of-tests',
    comment:
      'An imported test file would run its tests again. Put shared helpers in a file in tests/ ' +
      'that is not a test.',
    from: {},
    to: { path: test },
  },
  {
    name: 'no-development-packages-in-production',
    comment:
      'An installed package has only its own dependencies, so its package.json must list all ' +
      'that its files import.',
    from: { path: packages, pathNot: test },
    to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'npm-optional'] },
  },
  {
    name: 'no-unresolvable-imports',
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: 'no-orphans',
    comment: 'Delete files that import nothing and that nothing imports.',
    // The build injects shadow-styles.ts into third-party modules.
    from: { orphan: true, pathNot: ['^[.]', '^web/islands/shadow-styles[.]ts$'] },
    to: {},
  },
]

module.exports = {
  forbidden: forbidden.map((rule) => ({ severity: 'error', ...rule })),
  options: {
    // TypeScript 7 has no parser API. Without swc, all .ts files would be skipped without an error.
    // swc reports type-only imports by default; tsPreCompilationDeps would require an older
    // TypeScript.
    parser: 'swc',
    // The packages of the workspace are links in node_modules; resolve them to the source files.
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
