import { useView } from '../view.ts'

export interface Chip {
  /** Path relative to the base path. */
  readonly href: string
  readonly name: string
  readonly talks?: number
}

interface ChipsProps {
  items: readonly Chip[]
  /** Whether the numbers are exact; otherwise they are estimates. */
  isExact?: boolean
}

/** A row of small links, each with its number of talks. */
export function Chips({ items, isExact = true }: ChipsProps) {
  const { words, href, number } = useView()
  const count = (talks: number) => (isExact ? number(talks) : words.approximately(number(talks)))
  return (
    <ul class="plain chips">
      {items.map((item) => (
        <li key={item.href}>
          <a href={href(item.href)} dir="auto">
            {item.name}
            {item.talks !== undefined && <span class="count">{count(item.talks)}</span>}
          </a>
        </li>
      ))}
    </ul>
  )
}
