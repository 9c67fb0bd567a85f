import { useView } from '../view.ts'

export interface Chip {
  /** Path relative to the base path. */
  readonly href: string
  readonly name: string
  readonly talks?: number
}

/** A row of small links, each with its number of talks. */
export function Chips({ items }: { items: readonly Chip[] }) {
  const { href, number } = useView()
  return (
    <ul class="plain chips">
      {items.map((item) => (
        <li key={item.href}>
          <a href={href(item.href)} dir="auto">
            {item.name}
            {item.talks !== undefined && <span class="count">{number(item.talks)}</span>}
          </a>
        </li>
      ))}
    </ul>
  )
}
