import { startCopying } from './copy.ts'
import { startKeys } from './keys.ts'
import { startSearch } from './search.ts'
import './watch.ts'

// Loaded by every page. It only enhances pages: everything works without scripts.

startCopying()
// The embedded player has no navigation.
if (!document.body.classList.contains('page-embed')) startKeys()
startSearch()
