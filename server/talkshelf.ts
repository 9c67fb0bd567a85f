#!/usr/bin/env node
// Refuses an old Node with one sentence. Nothing else is loaded before: an old Node would fail on an
// import that it does not know, or start and then fail on requests.

const requiredMajor = 24
const major = Number(process.versions.node.split('.')[0])
if (major < requiredMajor) {
  console.error(
    `Talkshelf needs Node ${requiredMajor} or newer, and this is ${process.version}. ` +
      'Install a newer one from https://nodejs.org, or use the container image.',
  )
  process.exitCode = 1
} else await import('./main.ts')
