import { type AddCommands, CommandError, type JsonOption, jsonOption } from '../command.ts'
import { printJson } from '../platform/terminal.ts'
import { examine, type Finding } from './doctor.ts'

// `talkshelf doctor` and `talkshelf health`.

const marks = { ok: 'ok', warning: 'WARNING', error: 'ERROR' } as const
const maxAnswerMs = 3000

/** Adds the commands that check an installation. */
export function doctorCommands(
  program: Parameters<AddCommands>[0],
  { config, say }: Parameters<AddCommands>[1],
  schemaFolder: string,
): void {
  program
    .command('doctor')
    .description('check what this installation needs, and say what is missing')
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      const findings: Finding[] = []
      for await (const finding of examine(config(), { environment: process.env, schemaFolder })) {
        findings.push(finding)
        const { check, state, detail } = finding
        if (!json) process.stdout.write(`${marks[state].padEnd(8)} ${check.padEnd(13)} ${detail}\n`)
      }
      if (json) await printJson(findings)
      const count = (wanted: Finding['state']) =>
        findings.filter(({ state }) => state === wanted).length
      say(`Errors: ${count('error')}, warnings: ${count('warning')}`)
      if (count('error') > 0) process.exitCode = 1
    })

  program
    .command('health')
    .description('ask the server on this machine whether it answers, for health checks')
    .action(async () => {
      const { HOST, PORT, PUBLIC_URL } = config()
      const host = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[HOST] ?? HOST
      const path = PUBLIC_URL === '' ? '' : new URL(PUBLIC_URL).pathname.replace(/\/+$/, '')
      const url = `http://${host}:${PORT}${path}/healthz`
      const response = await fetch(url, { signal: AbortSignal.timeout(maxAnswerMs) }).catch(
        (error: Error) => {
          const { message } = (error.cause ?? error) as Error
          throw new CommandError(`No answer from ${url}: ${message}`)
        },
      )
      if (!response.ok) throw new CommandError(`${url} answered ${response.status}`)
      process.stdout.write(`${await response.text()}\n`)
    })
}
