import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

// The server in a file or two with all that it needs, which starts three times as fast as a
// thousand files: for packages, and for tests that start it often.

/** Never asked for: the server gives Fastify no schemas, and pg no native driver. */
const unused = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'pg-native']

/** Has a binary for each system, which no file can hold: npm installs it beside ours. */
export const externalPackages = ['sharp']

const server = join(import.meta.dirname, '../server')

/**
 * Into a folder: main.js, what it loads when it needs it, and what it reads. The pages are built by
 * then. Tells which files went into it.
 */
export async function bundleServer(folder: string): Promise<string[]> {
  const bundled = await rolldown({
    // The second is a program of its own: it decodes images in a process that may die.
    input: { main: join(server, 'main.ts'), decoder: join(server, 'pictures', 'decoder.ts') },
    platform: 'node',
    external: [...unused, ...externalPackages],
    onLog: (_, { message }) => {
      throw new Error(message)
    },
  })
  const { output } = await bundled.generate({
    format: 'esm',
    comments: false,
    chunkFileNames: '[name].js',
  })
  await bundled.close()
  const chunks = output.filter((it) => it.type === 'chunk')
  for (const { fileName, code, isEntry } of chunks) {
    // One character beyond ASCII, and Node keeps all of it in memory with two bytes for each.
    const ascii = code.replaceAll(
      /[^\0-\x7f]/g,
      (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    writeFileSync(join(folder, fileName), ascii, isEntry ? { mode: 0o755 } : {})
  }
  cpSync(join(server, 'package.json'), join(folder, 'package.json'))
  cpSync(join(server, 'migrations'), join(folder, 'migrations'), { recursive: true })
  cpSync(join(import.meta.dirname, '../web/dist/client'), join(folder, 'web'), {
    recursive: true,
  })
  return chunks.flatMap(({ modules }) => Object.keys(modules))
}
