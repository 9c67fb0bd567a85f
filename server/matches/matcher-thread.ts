import { parentPort } from 'node:worker_threads'
import { type MatchInput, matchTalks } from '../matching/matching.ts'

// The thread that `openMatcher` starts: pairs what it is sent.

parentPort?.on('message', (input: MatchInput) => parentPort?.postMessage(matchTalks(input)))
