import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { base, message } from './messages.ts'

// Quick search: suggests talks, speakers, events and tags while the reader types.

interface SuggestedEntity {
  readonly name: string
  readonly slug: string
  readonly talks: number
}

interface Suggestions {
  readonly talks: readonly { readonly id: number; readonly title: string; readonly slug: string }[]
  readonly speakers: readonly SuggestedEntity[]
  readonly categories: readonly SuggestedEntity[]
  readonly tags: readonly SuggestedEntity[]
}

interface Option {
  readonly group: string
  readonly name: string
  readonly note: string
  readonly href: string
}

const debounceMs = 90

let root: HTMLElement | undefined

/** Opens the quick search. Restores the focus when it is closed. */
export function openLauncher(): void {
  if (root) return
  root = document.createElement('div')
  document.body.append(root)
  const focused = document.activeElement
  render(
    <Launcher
      onClose={() => {
        if (!root) return
        render(null, root)
        root.remove()
        root = undefined
        if (focused instanceof HTMLElement) focused.focus()
      }}
    />,
    root,
  )
}

function optionsOf(suggestions: Suggestions): Option[] {
  const entityOptions = (group: string, kind: string, list: readonly SuggestedEntity[]) =>
    list.map(({ name, slug, talks }) => ({
      group: message(group),
      name,
      note: String(talks),
      href: `${base}/${kind}/-/${slug}`,
    }))
  return [
    ...suggestions.talks.map(({ id, title, slug }) => ({
      group: message('talks'),
      name: title,
      note: '',
      href: `${base}/video/${id}/${slug}`,
    })),
    ...entityOptions('speakers', 'speaker', suggestions.speakers),
    ...entityOptions('events', 'category', suggestions.categories),
    ...entityOptions('tags', 'tag', suggestions.tags),
  ]
}

/** Loads suggestions for a query, debounced. Keeps the previous ones if a request fails. */
function useSuggestions(q: string, onLoad: () => void): Option[] {
  const [options, setOptions] = useState<Option[]>([])
  useEffect(() => {
    const request = new AbortController()
    const query = q.trim()
    const timer = setTimeout(async () => {
      if (query === '') return setOptions([])
      try {
        const response = await fetch(
          `${base}/api/v2/suggest?${new URLSearchParams({ q: query, format: 'json' })}`,
          { signal: request.signal },
        )
        setOptions(response.ok ? optionsOf(await response.json()) : [])
        onLoad()
      } catch {
        // Aborted, or the server is unavailable: Enter still opens the search.
      }
    }, debounceMs)
    return () => {
      clearTimeout(timer)
      request.abort()
    }
  }, [q])
  return options
}

function Launcher({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [q, setQ] = useState('')
  const [chosen, setChosen] = useState(-1)
  const options = useSuggestions(q, () => setChosen(-1))

  useEffect(() => dialog.current?.showModal(), [])
  useEffect(
    () => document.getElementById(`launcher-${chosen}`)?.scrollIntoView({ block: 'nearest' }),
    [chosen],
  )

  const open = () =>
    location.assign(options[chosen]?.href ?? `${base}/search?${new URLSearchParams({ q })}`)
  // -1 stands for the input itself, before the first and after the last option.
  const step = (by: number) => {
    const next = (chosen + by + options.length + 1) % (options.length + 1)
    const index = next === options.length ? -1 : next
    setChosen(by < 0 && chosen === -1 ? options.length - 1 : index)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const actions: Record<string, () => void> = {
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      Enter: open,
    }
    const action = actions[event.key]
    // In an input method, Enter only ends the composition.
    if (!action || event.isComposing) return
    event.preventDefault()
    action()
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={dialog}
      class="launcher"
      aria-label={message('launcher')}
      onClose={onClose}
      onClick={({ target }) => target === dialog.current && dialog.current?.close()}
    >
      <input
        type="text"
        // biome-ignore lint/a11y/noRedundantRoles: the role is implied only with a datalist
        role="combobox"
        autocomplete="off"
        aria-expanded={options.length > 0}
        list={undefined}
        aria-controls="launcher-list"
        aria-activedescendant={chosen >= 0 ? `launcher-${chosen}` : undefined}
        aria-label={message('launcher')}
        placeholder={message('launcher')}
        maxLength={300}
        value={q}
        onInput={({ currentTarget }) => setQ(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <OptionList options={options} chosen={chosen} onChoose={setChosen} />
      <p class="hint" role="status">
        {q.trim() !== '' && options.length === 0
          ? message('launcherEmpty')
          : message('launcherHint')}
      </p>
    </dialog>
  )
}

interface OptionListProps {
  readonly options: readonly Option[]
  readonly chosen: number
  readonly onChoose: (index: number) => void
}

function OptionList({ options, chosen, onChoose }: OptionListProps) {
  return (
    <div id="launcher-list" role="listbox" aria-label={message('launcher')}>
      {options.map((option, index) => (
        <div key={option.href}>
          {options[index - 1]?.group !== option.group && (
            <div class="group" role="presentation">
              {option.group}
            </div>
          )}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys */}
          {/* biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input */}
          <div
            id={`launcher-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => location.assign(option.href)}
            onMouseMove={() => onChoose(index)}
          >
            <span dir="auto">{option.name}</span>
            <span class="count">{option.note}</span>
          </div>
        </div>
      ))}
    </div>
  )
}
