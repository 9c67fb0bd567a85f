import { startCopying } from './copy.ts'
import { startKeys } from './keys.ts'
import { startSearch } from './search.ts'
import './watch.ts'

// What every page loads, and what makes it better where scripts run. Everything works without it.

startCopying()
// In a frame of somebody else there is nowhere to go.
if (!document.body.classList.contains('page-embed')) startKeys()
startSearch()
