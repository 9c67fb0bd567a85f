import { startCopying } from './copy.ts'
import { startKeys } from './keys.ts'
import { startPlayAll } from './queue.ts'
import { markCards } from './remembered.ts'
import { startSearch } from './search.ts'
import { startShelves } from './shelves.ts'
import './watch.ts'

// Loaded by every page. It only enhances pages: everything works without scripts.

startCopying()
// The embedded player has no navigation.
if (!document.body.classList.contains('page-embed')) startKeys()
startSearch()
startPlayAll()
markCards()
const myTalks = document.querySelector<HTMLElement>('[data-my-talks]')
if (myTalks) void import('./my-talks.ts').then(({ startMyTalks }) => startMyTalks(myTalks))
const suggestForm = document.querySelector<HTMLFormElement>('[data-suggest-form]')
if (suggestForm)
  void import('./suggest-form.ts').then(({ startSuggestForm }) => startSuggestForm(suggestForm))
startShelves()
startSuggestions()

/** Loads the suggestions of a search box when it gets the focus. */
function startSuggestions(): void {
  const start = async (target: EventTarget | null) => {
    if (!(target instanceof HTMLInputElement) || !target.matches('[data-suggest]')) return
    const { addSuggestions } = await import('./suggestions.ts')
    addSuggestions(target)
  }
  document.addEventListener('focusin', ({ target }) => start(target))
  // The reader may have been faster than this script.
  start(document.activeElement)
}
