import { Argument, type Command, type Option } from 'commander'

// `talkshelf completion`: scripts that complete commands, options and their values in a shell. They
// are generated from the commands and do not start the program.

/** Adds the command. Completes the commands that were added before and after it. */
export function completionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(writers)))
    .addHelpText('after', help)
    .action((shell: keyof typeof writers) => {
      process.stdout.write(writers[shell](describe(program)))
    })
}

const help = `
Examples:
  talkshelf completion bash > /etc/bash_completion.d/talkshelf
  talkshelf completion zsh > /usr/share/zsh/vendor-completions/_talkshelf
  talkshelf completion fish > /etc/fish/completions/talkshelf.fish`

/** A command as its users type it. */
interface Described {
  /** With the names of the commands around it: `talkshelf token create`. */
  readonly path: string
  readonly description: string
  readonly hasArguments: boolean
  readonly choices: readonly string[]
  readonly commands: readonly { name: string; description: string }[]
  readonly options: readonly {
    readonly flags: readonly string[]
    readonly description: string
    readonly takesValue: boolean
    readonly choices: readonly string[]
  }[]
}

/** Describes a command and all commands below it. */
function describe(command: Command, path = command.name()): Described[] {
  const visible = command.createHelp()
  const commands = visible.visibleCommands(command)
  const described = {
    path,
    description: command.description(),
    hasArguments: command.registeredArguments.length > 0,
    choices: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    commands: commands.map((child) => ({ name: child.name(), description: child.description() })),
    options: visible.visibleOptions(command).map((option: Option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      description: option.description,
      takesValue: option.required || option.optional,
      choices: option.argChoices ?? [],
    })),
  }
  return [described, ...commands.flatMap((child) => describe(child, `${path} ${child.name()}`))]
}

/** Quotes a text for bash and zsh. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Returns the branches of a `case` that follow the words to the command that they name. */
const pathBranches = (all: readonly Described[]) =>
  all
    .slice(1)
    .map(({ path }) => quote(path))
    .join(' | ')

/** Returns one branch of a `case` for each option with a value. */
function valueBranches(all: readonly Described[], write: (choices: readonly string[]) => string) {
  return all.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ flags, choices }) => {
        const patterns = flags.map((flag) => quote(`${path} ${flag}`)).join(' | ')
        return `    ${patterns}) ${write(choices)}; return ;;`
      }),
  )
}

function writeBash(all: readonly Described[]): string {
  const branches = all.map(({ path, commands, options, choices, hasArguments }) => {
    const flags = options.flatMap((option) => option.flags).join(' ')
    const words = [...commands.map(({ name }) => name), ...choices].join(' ')
    // Without words and flags, bash completes the names of files.
    const other = words === '' && !hasArguments ? flags : words
    return `    ${quote(path)}) flags=${quote(flags)} words=${quote(other)} ;;`
  })
  const values = valueBranches(all, (choices) =>
    choices.length === 0 ? ':' : `COMPREPLY=($(compgen -W ${quote(choices.join(' '))} -- "$cur"))`,
  )
  return `# Completes talkshelf in bash. Written by: talkshelf completion bash
_talkshelf() {
  local cur=\${COMP_WORDS[COMP_CWORD]} command=talkshelf flags= words= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command \${COMP_WORDS[i]}" in
      ${pathBranches(all)}) command="$command \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$command \${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join('\n')}
  esac
  case $command in
${branches.join('\n')}
  esac
  if [[ $cur == -* ]]; then words=$flags; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _talkshelf talkshelf
`
}

/** Returns an entry of \`_describe\`: a word and its description. */
const zshEntry = (word: string, description: string) =>
  quote(`${word.replaceAll(':', '\\:')}:${description}`)

function writeZsh(all: readonly Described[]): string {
  const branches = all.map(({ path, commands, options, choices, hasArguments }) => {
    const flags = options.flatMap((option) =>
      option.flags.map((flag) => zshEntry(flag, option.description)),
    )
    const words = [
      ...commands.map(({ name, description }) => zshEntry(name, description)),
      ...choices.map((choice) => quote(choice)),
    ]
    const other = words.length === 0 && !hasArguments ? flags : words
    return `    ${quote(path)}) flags=(${flags.join(' ')}) list=(${other.join(' ')}) ;;`
  })
  const values = valueBranches(all, (choices) =>
    choices.length === 0 ? '_files' : `compadd -- ${choices.map(quote).join(' ')}`,
  )
  return `#compdef talkshelf
# Completes talkshelf in zsh. Written by: talkshelf completion zsh
_talkshelf() {
  local command=talkshelf i
  local -a flags list
  for ((i = 2; i < CURRENT; i++)); do
    case "$command \${words[i]}" in
      ${pathBranches(all)}) command="$command \${words[i]}" ;;
    esac
  done
  case "$command \${words[CURRENT - 1]}" in
${values.join('\n')}
  esac
  case $command in
${branches.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then list=("\${flags[@]}"); fi
  if ((\${#list})); then _describe talkshelf list; else _files; fi
}
if [[ $funcstack[1] == _talkshelf ]]; then _talkshelf "$@"; else compdef _talkshelf talkshelf; fi
`
}

function writeFish(all: readonly Described[]): string {
  const quoteFish = (text: string) =>
    `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
  const lines = all.flatMap(({ path, commands, options, choices, hasArguments }) => {
    const at = `complete -c talkshelf -n ${quoteFish(`test (__talkshelf_command) = "${path}"`)}`
    return [
      ...(hasArguments && choices.length === 0 ? [] : [`${at} -f`]),
      ...commands.map(
        ({ name, description }) => `${at} -a ${quoteFish(name)} -d ${quoteFish(description)}`,
      ),
      ...(choices.length === 0 ? [] : [`${at} -a ${quoteFish(choices.join(' '))}`]),
      ...options.map((option) => {
        const names = option.flags.map((flag) =>
          flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        )
        const values =
          option.choices.length > 0 ? ` -x -a ${quoteFish(option.choices.join(' '))}` : ''
        const value = option.takesValue ? values || ' -r' : ''
        return `${at} ${names.join(' ')}${value} -d ${quoteFish(option.description)}`
      }),
    ]
  })
  const paths = all.slice(1).map(({ path }) => quoteFish(path))
  return `# Completes talkshelf in fish. Written by: talkshelf completion fish
function __talkshelf_command
  set -l command talkshelf
  for word in (commandline -opc)[2..-1]
    switch "$command $word"
      case ${paths.join(' ')}
        set command "$command $word"
    end
  end
  echo $command
end
${lines.join('\n')}
`
}

const writers = { bash: writeBash, zsh: writeZsh, fish: writeFish } as const
