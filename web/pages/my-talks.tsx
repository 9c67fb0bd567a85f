import { PageLayout } from '../parts/page.tsx'
import { useView } from '../view.ts'

/**
 * The talks that the browser of the reader remembers. The server does not know them:
 * islands/my-talks.ts fills the lists.
 */
export function MyTalks() {
  const { words } = useView()
  const lists = [
    ['continue', words.continueWatching],
    ['later', words.watchLater],
    ['watched', words.watched],
  ] as const
  return (
    <PageLayout name="mine" title={words.myTalks}>
      <h1>{words.myTalks}</h1>
      <p>{words.myTalksNote}</p>
      <noscript>
        <p>{words.myTalksNoScript}</p>
      </noscript>
      <div
        class="with-scripts"
        data-my-talks
        data-remove={words.remove}
        data-confirm={words.forgetAllConfirm}
      >
        <p data-empty tabindex={-1}>
          {words.myTalksEmpty}
        </p>
        {lists.map(([list, title]) => (
          <section key={list} data-list={list} hidden>
            <h2>{title}</h2>
            <ul class="plain my-talks" />
          </section>
        ))}
        <p data-filled hidden>
          <button type="button" class="button" data-forget>
            {words.forgetAll}
          </button>
        </p>
      </div>
    </PageLayout>
  )
}
