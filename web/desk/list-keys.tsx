import { useDesk } from './view.ts'

/** An attribute of the links between which the keys of a list move. */
export const listItem = { 'data-item': '' } as const

/** A button that shows the keys of a list. Without scripts there are none. */
export function ListKeys({ more = {} }: { more?: Readonly<Record<string, string>> }) {
  const { lists: text } = useDesk().words
  return (
    <>
      <p class="with-scripts">
        <button type="button" class="as-link" data-show-keys>
          {text.keys}
        </button>
      </p>
      <dialog class="keys" aria-labelledby="keys-title" data-list-keys>
        <h2 id="keys-title">{text.keysTitle}</h2>
        <dl>
          {Object.entries({ ...text.keyTexts, ...more }).map(([key, meaning]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button type="submit">{text.close}</button>
        </form>
      </dialog>
    </>
  )
}
