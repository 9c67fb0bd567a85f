import { useView } from '../view.ts'

/** A link to the contact of the operator, if there is one. */
export function ContactLink() {
  const { words, site } = useView()
  if (!site.contact) return null
  return (
    <p>
      <a href={site.contact}>{words.contactOperator}</a>
    </p>
  )
}
