import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { base, message } from './messages.ts'

// Go anywhere by typing: talks, people, events and tags that begin so, or that were probably meant.

interface Named {
  readonly name: string
  readonly slug: string
  readonly talks: number
}

interface Suggestions {
  readonly talks: readonly { readonly id: number; readonly title: string; readonly slug: string }[]
  readonly speakers: readonly Named[]
  readonly categories: readonly Named[]
  readonly tags: readonly Named[]
}

interface Option {
  readonly group: string
  readonly name: string
  readonly note: string
  readonly href: string
}

let root: HTMLElement | undefined

export function openLauncher(): void {
  if (root) return
  root = document.createElement('div')
  document.body.append(root)
  const before = document.activeElement
  render(
    <Launcher
      onClose={() => {
        if (!root) return
        render(null, root)
        root.remove()
        root = undefined
        if (before instanceof HTMLElement) before.focus()
      }}
    />,
    root,
  )
}

function optionsOf(found: Suggestions): Option[] {
  const narrowed = (group: string, kind: string, list: readonly Named[]) =>
    list.map(({ name, slug, talks }) => ({
      group: message(group),
      name,
      note: String(talks),
      href: `${base}/${kind}/-/${slug}`,
    }))
  return [
    ...found.talks.map(({ id, title, slug }) => ({
      group: message('talks'),
      name: title,
      note: '',
      href: `${base}/video/${id}/${slug}`,
    })),
    ...narrowed('speakers', 'speaker', found.speakers),
    ...narrowed('events', 'category', found.categories),
    ...narrowed('tags', 'tag', found.tags),
  ]
}

function Launcher({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [q, setQ] = useState('')
  const [options, setOptions] = useState<Option[]>([])
  const [chosen, setChosen] = useState(-1)

  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    const asking = new AbortController()
    const asked = q.trim()
    const timer = setTimeout(async () => {
      if (asked === '') return setOptions([])
      try {
        const answer = await fetch(
          `${base}/api/v2/suggest?${new URLSearchParams({ q: asked, format: 'json' })}`,
          { signal: asking.signal },
        )
        setOptions(answer.ok ? optionsOf(await answer.json()) : [])
        setChosen(-1)
      } catch {
        // Somebody typed on, or the server is away: Enter still searches.
      }
    }, 90)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [q])

  useEffect(
    () => document.getElementById(`launcher-${chosen}`)?.scrollIntoView({ block: 'nearest' }),
    [chosen],
  )

  const go = () =>
    location.assign(options[chosen]?.href ?? `${base}/search?${new URLSearchParams({ q })}`)
  const step = (by: number) => {
    const next = (chosen + by + options.length + 1) % (options.length + 1)
    const at = next === options.length ? -1 : next
    setChosen(by < 0 && chosen === -1 ? options.length - 1 : at)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const keys: Record<string, () => void> = {
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      Enter: go,
    }
    const act = keys[event.key]
    // Enter may only end a word that is composed.
    if (!act || event.isComposing) return
    event.preventDefault()
    act()
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
        // biome-ignore lint/a11y/noRedundantRoles: without a datalist it is none
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
      <div id="launcher-list" role="listbox" aria-label={message('launcher')}>
        {options.map((option, at) => (
          <div key={option.href}>
            {options[at - 1]?.group !== option.group && (
              <div class="group" role="presentation">
                {option.group}
              </div>
            )}
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: keys are heard where the words are typed */}
            {/* biome-ignore lint/a11y/useFocusableInteractive: the focus stays where the words are typed */}
            <div
              id={`launcher-${at}`}
              role="option"
              aria-selected={at === chosen}
              onClick={() => location.assign(option.href)}
              onMouseMove={() => setChosen(at)}
            >
              <span dir="auto">{option.name}</span>
              <span class="count">{option.note}</span>
            </div>
          </div>
        ))}
      </div>
      <p class="hint" role="status">
        {q.trim() !== '' && options.length === 0
          ? message('launcherNothing')
          : message('launcherHint')}
      </p>
    </dialog>
  )
}
