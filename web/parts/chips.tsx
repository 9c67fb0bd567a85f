import { useView } from '../view.ts'

export interface Chip {
  /** Below the base. */
  readonly href: string
  readonly name: string
  readonly talks?: number
}

/** Small links side by side, with how many talks there are behind each. */
export function Chips({ items }: { items: readonly Chip[] }) {
  const { href, number } = useView()
  return (
    <ul class="plain chips">
      {items.map((it) => (
        <li key={it.href}>
          <a href={href(it.href)} dir="auto">
            {it.name}
            {it.talks !== undefined && <span class="count">{number(it.talks)}</span>}
          </a>
        </li>
      ))}
    </ul>
  )
}
