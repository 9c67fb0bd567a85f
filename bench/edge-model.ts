// The model of bench/edge.ts: readers, edge locations with a cache each, a shield, purges. Only
// events and a seeded random source. Che's approximation is here too. It judges the result; in the
// simulation it only helps to choose where the caches start.

export interface World {
  readonly popularity: Popularity
  readonly locations: number
  /** How many bodies a location holds. All are of the mean size, so that a count will do. */
  readonly capacity: number
  /** `s-maxage`. */
  readonly maxAgeS: number
  readonly readsPerS: number
  readonly writesPerS: number
  /** Caches begin empty, or as an endless past would have left them. */
  readonly start: 'empty' | 'past'
  readonly warmUpReads: number
  readonly countedReads: number
  readonly seed: number
}

/**
 * Requests that reach the origin when each location asks it directly, and when all ask the shield.
 */
export interface Arrivals {
  direct: number
  shielded: number
}

export interface EdgeOutcome extends Readonly<Arrivals> {
  /** Far from a half of the whole, the warm-up was too short. */
  readonly firstHalf: Readonly<Arrivals>
}

type Random = () => number
const two32 = 2 ** 32

/**
 * Plays the same readers against the edge without a shield and with one, which is location 0. One
 * cache per location does for both: what has expired keeps its place until it is asked for or
 * pushed out, so both worlds hold the same records in the same order, and differ only in how long
 * each may still be used. A copy that comes through the shield is as old as the shield's (the Age
 * header).
 */
export function simulate(world: World): EdgeOutcome {
  const { locations, maxAgeS, readsPerS, writesPerS, warmUpReads, countedReads } = world
  const random = makeRandom(world.seed)
  const draw = sampler(world.popularity, random)
  const records = world.popularity.shares.length
  const edge = Array.from({ length: locations }, () => openCache(records, world.capacity))
  const shield = openCache(records, world.capacity)
  if (world.start === 'past') recall(world, random, edge, shield)

  const arrived: Arrivals = { direct: 0, shielded: 0 }
  let nextWriteS = exponential(random, writesPerS)
  let read = 0
  function runUntil(end: number): Readonly<Arrivals> {
    for (; read < end; read++) {
      // Readers come at even distances: the time matters only to purges and expiry, which know
      // nothing as short.
      const nowS = read / readsPerS
      for (; nextWriteS <= nowS; nextWriteS += exponential(random, writesPerS)) purge(draw())
      answer(Math.floor((random() / two32) * locations), draw(), nowS)
    }
    return { ...arrived }
  }

  function purge(record: number) {
    for (const cache of edge) cache.drop(record)
    shield.drop(record)
  }

  function answer(location: number, record: number, nowS: number) {
    const cache = edge[location] as Cache
    const found = cache.use(record)
    const slot = found || cache.add(record)
    if (!found || (cache.untilS[slot + direct] as number) <= nowS) {
      arrived.direct++
      cache.untilS[slot + direct] = nowS + maxAgeS
    }
    // The shield's own readers ask it each time.
    if (!found || (cache.untilS[slot + shielded] as number) <= nowS || location === 0)
      cache.untilS[slot + shielded] = askShield(record, nowS)
  }

  function askShield(record: number, nowS: number): number {
    const found = shield.use(record)
    const slot = found || shield.add(record)
    if (!found || (shield.untilS[slot + shielded] as number) <= nowS) {
      arrived.shielded++
      shield.untilS[slot + shielded] = nowS + maxAgeS
    }
    return shield.untilS[slot + shielded] as number
  }

  const begin = runUntil(warmUpReads)
  const middle = runUntil(warmUpReads + Math.floor(countedReads / 2))
  const end = runUntil(warmUpReads + countedReads)
  return { ...difference(begin, end), firstHalf: difference(begin, middle) }
}

/**
 * Puts the caches where an endless past would have left them, near enough for a short warm-up; from
 * empty ones it takes up to 50 million requests, or a day. A record was last read, and last
 * changed, an exponentially distributed time ago, and an LRU cache holds those that were read last:
 * that is exact. What the shield was asked for, and how old the copies are, is estimated.
 */
function recall(world: World, random: Random, edge: Cache[], shield: Cache): void {
  const { locations, capacity, maxAgeS, readsPerS, writesPerS } = world
  const { shares } = world.popularity
  const records = shares.length
  const rates = shares.map((share) => (share * readsPerS) / locations)
  const memoryS = characteristicTime(rates, capacity)
  const shieldRates = rates.map(
    (rate) => rate * (1 + (locations - 1) * Math.exp(-rate * Math.min(memoryS, maxAgeS))),
  )
  const shieldMemoryS = characteristicTime(shieldRates, capacity)
  const changedAgoS = shares.map((share) => exponential(random, share * writesPerS))
  const shieldAgoS = rates.map((rate, record) =>
    copyAgoS(record, rate * locations, 0, exponential(random, rate * locations)),
  )
  fill(edge, rates, memoryS)
  if (shieldMemoryS < maxAgeS) fill([shield], shieldRates, shieldMemoryS)
  else
    for (const [record, agoS] of shieldAgoS.entries())
      if (agoS < Math.min(maxAgeS, changedAgoS[record] as number))
        shield.untilS[shield.add(record) + shielded] = maxAgeS - agoS

  /**
   * When the copy was made that was last read so long ago: at the first read after a change, an
   * expiry or being pushed out.
   */
  function copyAgoS(record: number, rate: number, lossRate: number, readAgoS: number): number {
    const changeS = (changedAgoS[record] as number) - exponential(random, rate)
    // A copy lives for `maxAgeS` and then waits for a reader. Seen from a reader, he made it
    // himself, or it is equally likely of any age.
    const expiryS = readAgoS + Math.max(0, (random() / two32) * (maxAgeS + 1 / rate) - 1 / rate)
    return Math.max(
      readAgoS,
      Math.min(changeS < maxAgeS ? changeS : expiryS, exponential(random, lossRate)),
    )
  }

  function fill(caches: Cache[], readRates: Float64Array, keptS: number) {
    // A little more than fits; what is too old is pushed out again. What nobody read since it
    // expired is as good as not there.
    const sinceS = Math.min(keptS * 1.02, maxAgeS)
    const wasRead = readRates.map((rate) => -Math.expm1(-rate * sinceS))
    const lossRates = readRates.map((rate) => rate * Math.exp(-rate * keptS))
    const found = new Int32Array(records)
    const directUntilS = new Float64Array(records)
    const shieldedUntilS = new Float64Array(records)
    // Sorted into classes by age, which is near enough, and quick.
    const classes = 1024
    const classOf = new Int32Array(records)
    const order = new Int32Array(records)
    for (const cache of caches) {
      let count = 0
      const ends = new Int32Array(classes)
      for (let record = 0; record < records; record++) {
        const chance = random() / two32
        // Most were not read: skipping them early saves a logarithm.
        if (chance >= (wasRead[record] as number)) continue
        const rate = readRates[record] as number
        const readAgoS = -Math.log1p(-chance) / rate
        if (readAgoS > (changedAgoS[record] as number)) continue
        found[count] = record
        directUntilS[count] =
          maxAgeS - copyAgoS(record, rate, lossRates[record] as number, readAgoS)
        // What was last read before the shield made its copy is older than that, and has expired.
        const throughS = shieldAgoS[record] as number
        shieldedUntilS[count] = cache === shield || readAgoS < throughS ? maxAgeS - throughS : 0
        const youth = Math.floor((1 - readAgoS / sinceS) * classes)
        classOf[count++] = youth
        ends[youth] = (ends[youth] as number) + 1
      }
      for (let i = 1; i < classes; i++) ends[i] = (ends[i] as number) + (ends[i - 1] as number)
      for (let i = 0; i < count; i++) {
        const youth = classOf[i] as number
        ends[youth] = (ends[youth] as number) - 1
        order[ends[youth] as number] = i
      }
      for (const i of order.subarray(0, count)) {
        const slot = cache.add(found[i] as number)
        cache.untilS[slot + direct] = directUntilS[i] as number
        cache.untilS[slot + shielded] = shieldedUntilS[i] as number
      }
    }
  }
}

export interface Cache {
  /** Finds the slot of a record, which is now the newest; 0 if it is not there. */
  use(record: number): number
  /** In the place of the oldest. */
  add(record: number): number
  drop(record: number): void
  /**
   * Until when it may be used: at `slot + direct` without a shield, at `slot + shielded` with it.
   */
  readonly untilS: Float64Array
}

// A slot is half a line of the processor's cache, because memory is what the simulation waits for:
// three integers in the room of two numbers, then two numbers. It is known by the place of its
// first number.
const width = 4
const direct = 2
const shielded = 3

/**
 * LRU: a ring from the newest to the oldest and back through slot 0, which holds nothing. Free
 * slots are the oldest.
 */
export function openCache(records: number, capacity: number): Cache {
  const slotOf = new Int32Array(records)
  const untilS = new Float64Array((Math.min(capacity, records) + 1) * width)
  const ring = new Int32Array(untilS.buffer)
  const older = 0
  const newer = 1
  const holds = 2
  for (let slot = 0; slot < untilS.length; slot += width) {
    ring[2 * slot + older] = slot + width
    ring[2 * slot + newer] = slot - width
    ring[2 * slot + holds] = -1
  }
  ring[newer] = untilS.length - width
  ring[2 * (untilS.length - width) + older] = 0

  /** Out of the ring, and in again between two neighbours. */
  function move(slot: number, isNewest: boolean) {
    const left = ring[2 * slot + newer] as number
    const right = ring[2 * slot + older] as number
    ring[2 * left + older] = right
    ring[2 * right + newer] = left
    const before = isNewest ? 0 : (ring[newer] as number)
    const after = isNewest ? (ring[older] as number) : 0
    ring[2 * slot + newer] = before
    ring[2 * slot + older] = after
    ring[2 * before + older] = slot
    ring[2 * after + newer] = slot
  }

  return {
    use(record) {
      const slot = slotOf[record] as number
      if (slot !== 0) move(slot, true)
      return slot
    },
    add(record) {
      const slot = ring[newer] as number
      const gone = ring[2 * slot + holds] as number
      if (gone >= 0) slotOf[gone] = 0
      ring[2 * slot + holds] = record
      slotOf[record] = slot
      move(slot, true)
      return slot
    },
    drop(record) {
      const slot = slotOf[record] as number
      if (slot === 0) return
      slotOf[record] = 0
      ring[2 * slot + holds] = -1
      move(slot, false)
    },
    untilS,
  }
}

/** Record k, from 1, is asked for in proportion to 1 / k ** exponent. */
export interface Popularity {
  /** The share of all reads that each record has. */
  readonly shares: Float64Array
  /**
   * For Walker's alias method, two for each column: below which random number the column itself is
   * meant, and who else is.
   */
  readonly columns: Uint32Array
}

export function zipf(records: number, exponent: number): Popularity {
  const shares = new Float64Array(records)
  let sum = 0
  // The small ones first, for precision.
  for (let k = records; k > 0; k--) sum += shares[k - 1] = k ** -exponent
  for (let k = 0; k < records; k++) shares[k] = (shares[k] as number) / sum

  const height = shares.map((share) => share * records)
  const columns = new Uint32Array(2 * records)
  // Shares fall, so the columns that are too high are the first ones. `large` gives to the low
  // ones, until it is low itself.
  const low: number[] = []
  let large = 0
  for (let k = 0; k < records; k++) if ((height[k] as number) < 1) low.push(k)
  while (low.length > 0 && (height[large] as number) >= 1) {
    const small = low.pop() as number
    columns[2 * small] = (height[small] as number) * two32
    columns[2 * small + 1] = large
    height[large] = (height[large] as number) - (1 - (height[small] as number))
    if ((height[large] as number) < 1) low.push(large++)
  }
  // What is left is full but for rounding.
  for (const k of low) columns[2 * k + 1] = k
  for (; (height[large] as number) >= 1; large++) columns[2 * large + 1] = large
  return { shares, columns }
}

/** Two random numbers and one look, however many records there are. */
export function sampler({ columns }: Popularity, random: Random): () => number {
  const records = columns.length / 2
  return () => {
    const column = Math.floor((random() / two32) * records)
    return random() < (columns[2 * column] as number) ? column : (columns[2 * column + 1] as number)
  }
}

/** sfc32 by Chris Doty-Humphrey: 32 bits at a time, the same for the same seed everywhere. */
export function makeRandom(seed: number): Random {
  let a = seed | 0
  let b = 0x9e3779b9 | 0
  let c = 0x243f6a88
  let count = 1
  const next = () => {
    const sum = (((a + b) | 0) + count) | 0
    count = (count + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  for (let i = 0; i < 20; i++) next() // Until the seed is everywhere.
  return next
}

/** Never, if the rate is 0. */
function exponential(random: Random, rate: number): number {
  return -Math.log((random() + 1) / (two32 + 1)) / rate
}

/**
 * Che, Tung and Wang 2002: a record stays in an LRU cache for about the time in which as many
 * different records are read as fit.
 */
function characteristicTime(rates: Float64Array, capacity: number): number {
  if (capacity >= rates.length) return Number.POSITIVE_INFINITY
  let timeS = 0
  // Newton's method from below on a concave function: each step is too short, never too long.
  for (let step = 0; step < 50; step++) {
    let missing = capacity
    let slope = 0
    for (const rate of rates) {
      const absent = Math.exp(-rate * timeS)
      missing -= 1 - absent
      slope += rate * absent
    }
    timeS += missing / slope
    if (missing < 1e-6 * capacity) break
  }
  return timeS
}

/** The share of reads that one location answers by itself, without purges and expiry. */
export function cheHitShare({ shares }: Popularity, capacity: number): number {
  const reads = characteristicTime(shares, capacity)
  return shares.reduce((sum, share) => sum + share * -Math.expm1(-share * reads), 0)
}

function difference(from: Arrivals, to: Arrivals): Arrivals {
  return { direct: to.direct - from.direct, shielded: to.shielded - from.shielded }
}
