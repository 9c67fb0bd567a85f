import { cpSync, globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

// Bundles the server and its dependencies into a few files, which start three times as fast as a
// thousand. For packages, and for tests that start the server often.

/** Never loaded: the server uses neither the schemas of Fastify nor the native driver of pg. */
const unused = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'pg-native']

/** Not bundled but installed by npm, because it has a binary for each platform. */
export const externalPackages = ['sharp']

const server = join(import.meta.dirname, '../server')

/**
 * Writes talkshelf.js, main.js, the modules that it loads on demand and the files that it reads to an existing
 * folder. The pages must be built before. Throws on any message of the bundler, also on warnings.
 * Returns the paths of the source files in the bundle.
 */
export async function bundleServer(folder: string): Promise<string[]> {
  const bundle = await rolldown({
    input: {
      talkshelf: join(server, 'talkshelf.ts'),
      main: join(server, 'main.ts'),
      // Runs in a process of its own, which may crash.
      decoder: join(server, 'pictures', 'decoder.ts'),
      // Runs in a thread of its own, for seconds.
      'matcher-thread': join(server, 'matches', 'matcher-thread.ts'),
    },
    platform: 'node',
    external: [...unused, ...externalPackages],
    onLog: (_, { message }) => {
      throw new Error(message)
    },
  })
  const { output } = await bundle.generate({
    format: 'esm',
    comments: false,
    chunkFileNames: '[name].js',
  })
  await bundle.close()
  const chunks = output.filter((item) => item.type === 'chunk')
  for (const { fileName, code, isEntry } of chunks) {
    // One character above U+00FF makes V8 store the whole source with two bytes per character.
    const ascii = code.replaceAll(
      /[^\0-\x7f]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    writeFileSync(join(folder, fileName), ascii, isEntry ? { mode: 0o755 } : {})
  }
  cpSync(join(server, 'package.json'), join(folder, 'package.json'))
  cpSync(join(server, 'migrations'), join(folder, 'migrations'), { recursive: true })
  for (const file of globSync('*/triggers.sql', { cwd: server }))
    cpSync(join(server, file), join(folder, file))
  cpSync(join(server, 'demo', 'clip.webm'), join(folder, 'clip.webm'))
  cpSync(join(import.meta.dirname, '../web/dist/client'), join(folder, 'web'), {
    recursive: true,
  })
  return chunks.flatMap(({ modules }) => Object.keys(modules))
}
