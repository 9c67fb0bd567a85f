import { useView } from '../view.ts'

/** A range of dates, the only known date, or a note that the date is unknown. */
export function DateRange({ first, last }: { first: string | null; last: string | null }) {
  const { words, day, days } = useView()
  const known = first ?? last
  if (!known) return <span>{words.dateUnknown}</span>
  if (!first || !last || first >= last)
    return (
      <time dateTime={known} dir="auto">
        {day(known)}
      </time>
    )
  return <span dir="auto">{days(first, last)}</span>
}
