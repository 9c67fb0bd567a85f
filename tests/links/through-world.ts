import { type Fault, startDatabase } from '../faults/environment.ts'
import { lives } from './lives.ts'
import { checkPace } from './pace.ts'
import { playThroughWorld } from './play-through-world.ts'

// What is played with PostgreSQL, HTTP and TLS.

export const livesThroughWorld: Fault = {
  name: 'lives through the world',
  limitS: { quick: 900, full: 900 },
  async run(environment) {
    const { serviceUrl } = await startDatabase(environment)
    let [sources, requests] = [0, 0]
    // Kills are played by processes (pace.ts).
    const played = lives.filter(({ isKilled }) => !isKilled)
    for (const life of played) {
      const result = await playThroughWorld(life, serviceUrl).catch((cause: unknown) => {
        throw new Error(`The life “${life.name}” ended in another way`, { cause })
      })
      sources += result.sources
      requests += result.requests
    }
    return `${played.length} lives of ${sources} sources, ${requests} requests`
  },
}

export const pace: Fault = {
  name: 'pace of three processes that are killed',
  limitS: { quick: 900, full: 1800 },
  async run(environment) {
    const { serviceUrl } = await startDatabase(environment)
    return checkPace(serviceUrl, environment.quick ? 6 : 40)
  },
}
