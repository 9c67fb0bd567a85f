// The model of bench/edge.ts: readers, edge locations with a cache each, a shield, and purges, as
// an event simulation with a seeded random source. Che's approximation is used to validate the
// result; the simulation uses it only for the initial state of the caches.

export interface World {
  readonly popularity: Popularity
  readonly locations: number
  /** The number of bodies that a location can hold. All have the mean size. */
  readonly capacity: number
  /** `s-maxage`. */
  readonly maxAgeS: number
  readonly readsPerS: number
  readonly writesPerS: number
  /** Whether caches start empty or approximately in their steady state. */
  readonly start: 'empty' | 'steady'
  readonly warmUpReads: number
  readonly countedReads: number
  readonly seed: number
}

/** Requests that reach the origin without a shield, and with one. */
export interface OriginRequests {
  direct: number
  shielded: number
}

export interface EdgeOutcome extends Readonly<OriginRequests> {
  /** If this is far from half of the total, the warm-up was too short. */
  readonly firstHalf: Readonly<OriginRequests>
}

type Random = () => number
const two32 = 2 ** 32

/**
 * Simulates the same readers without a shield and with one, which is location 0. One cache per
 * location is enough for both: expired records stay in it until they are read or evicted, so both
 * variants hold the same records in the same order and differ only in their expiry times. A copy
 * that was fetched through the shield has the age of the shield's copy (the Age header).
 */
export function simulate(world: World): EdgeOutcome {
  const { locations, maxAgeS, readsPerS, writesPerS, warmUpReads, countedReads } = world
  const random = makeRandom(world.seed)
  const draw = sampler(world.popularity, random)
  const records = world.popularity.shares.length
  const edge = Array.from({ length: locations }, () => openCache(records, world.capacity))
  const shield = openCache(records, world.capacity)
  if (world.start === 'steady') startSteady(world, random, edge, shield)

  const requests: OriginRequests = { direct: 0, shielded: 0 }
  let nextWriteS = exponential(random, writesPerS)
  let readCount = 0
  function runUntil(end: number): Readonly<OriginRequests> {
    for (; readCount < end; readCount++) {
      // Reads are evenly spaced: time matters only for purges and expiry, which are much longer.
      const nowS = readCount / readsPerS
      for (; nextWriteS <= nowS; nextWriteS += exponential(random, writesPerS)) purge(draw())
      read(Math.floor((random() / two32) * locations), draw(), nowS)
    }
    return { ...requests }
  }

  function purge(record: number) {
    for (const cache of edge) cache.drop(record)
    shield.drop(record)
  }

  function read(location: number, record: number, nowS: number) {
    const cache = edge[location] as Cache
    const found = cache.use(record)
    const slot = found || cache.add(record)
    if (!found || (cache.untilS[slot + direct] as number) <= nowS) {
      requests.direct++
      cache.untilS[slot + direct] = nowS + maxAgeS
    }
    // Readers of location 0 read from the shield itself.
    if (!found || (cache.untilS[slot + shielded] as number) <= nowS || location === 0)
      cache.untilS[slot + shielded] = readFromShield(record, nowS)
  }

  function readFromShield(record: number, nowS: number): number {
    const found = shield.use(record)
    const slot = found || shield.add(record)
    if (!found || (shield.untilS[slot + shielded] as number) <= nowS) {
      requests.shielded++
      shield.untilS[slot + shielded] = nowS + maxAgeS
    }
    return shield.untilS[slot + shielded] as number
  }

  const atStart = runUntil(warmUpReads)
  const atMiddle = runUntil(warmUpReads + Math.floor(countedReads / 2))
  const atEnd = runUntil(warmUpReads + countedReads)
  return { ...difference(atStart, atEnd), firstHalf: difference(atStart, atMiddle) }
}

/**
 * Fills the caches approximately as in their steady state, so that a short warm-up is enough; from
 * empty caches it takes up to 50 million requests, or a day. The times since the last read and the
 * last change of a record are exponentially distributed, and an LRU cache holds the records that
 * were read last: that is exact. The reads from the shield and the ages of copies are estimated.
 */
function startSteady(world: World, random: Random, edge: Cache[], shield: Cache): void {
  const { locations, capacity, maxAgeS, readsPerS, writesPerS } = world
  const { shares } = world.popularity
  const records = shares.length
  const rates = shares.map((share) => (share * readsPerS) / locations)
  const retentionS = characteristicTime(rates, capacity)
  const shieldRates = rates.map(
    (rate) => rate * (1 + (locations - 1) * Math.exp(-rate * Math.min(retentionS, maxAgeS))),
  )
  const shieldRetentionS = characteristicTime(shieldRates, capacity)
  const changedAgoS = shares.map((share) => exponential(random, share * writesPerS))
  const shieldAgoS = rates.map((rate, record) =>
    copyAgoS(record, rate * locations, 0, exponential(random, rate * locations)),
  )
  fill(edge, rates, retentionS)
  if (shieldRetentionS < maxAgeS) fill([shield], shieldRates, shieldRetentionS)
  else
    for (const [record, agoS] of shieldAgoS.entries())
      if (agoS < Math.min(maxAgeS, changedAgoS[record] as number))
        shield.untilS[shield.add(record) + shielded] = maxAgeS - agoS

  /**
   * Returns the age of a copy that was last read `readAgoS` ago. It was fetched at the first read
   * after a change, an expiry or an eviction.
   */
  function copyAgoS(record: number, rate: number, lossRate: number, readAgoS: number): number {
    const changeS = (changedAgoS[record] as number) - exponential(random, rate)
    // A copy is valid for `maxAgeS`, and the next read after that replaces it. For a random read,
    // either the copy is new, or its age is uniformly distributed.
    const expiryS = readAgoS + Math.max(0, (random() / two32) * (maxAgeS + 1 / rate) - 1 / rate)
    return Math.max(
      readAgoS,
      Math.min(changeS < maxAgeS ? changeS : expiryS, exponential(random, lossRate)),
    )
  }

  function fill(caches: Cache[], readRates: Float64Array, maxS: number) {
    // Adds slightly more than fits; the oldest are evicted again. Copies that were not read since
    // they expired do not matter.
    const sinceS = Math.min(maxS * 1.02, maxAgeS)
    const wasRead = readRates.map((rate) => -Math.expm1(-rate * sinceS))
    const lossRates = readRates.map((rate) => rate * Math.exp(-rate * maxS))
    const found = new Int32Array(records)
    const directUntilS = new Float64Array(records)
    const shieldedUntilS = new Float64Array(records)
    // A bucket sort by age, which is accurate enough and fast.
    const buckets = 1024
    const bucketOf = new Int32Array(records)
    const order = new Int32Array(records)
    for (const cache of caches) {
      let count = 0
      const ends = new Int32Array(buckets)
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
        // A copy that was last read before the shield fetched its own is older, and has expired.
        const shieldCopyAgoS = shieldAgoS[record] as number
        shieldedUntilS[count] =
          cache === shield || readAgoS < shieldCopyAgoS ? maxAgeS - shieldCopyAgoS : 0
        const youth = Math.floor((1 - readAgoS / sinceS) * buckets)
        bucketOf[count++] = youth
        ends[youth] = (ends[youth] as number) + 1
      }
      for (let i = 1; i < buckets; i++) ends[i] = (ends[i] as number) + (ends[i - 1] as number)
      for (let i = 0; i < count; i++) {
        const youth = bucketOf[i] as number
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
  /** Returns the slot of a record and makes it the newest; 0 if the record is not cached. */
  use(record: number): number
  /** Adds a record in place of the oldest. Returns its slot. */
  add(record: number): number
  /** Removes a record if it is cached. The next `add` takes its slot. */
  drop(record: number): void
  /** Expiry times: at `slot + direct` without a shield, at `slot + shielded` with one. */
  readonly untilS: Float64Array
}

// A slot is half a cache line, because memory access limits the speed of the simulation: three
// 32-bit integers in the space of two numbers, then two numbers. Its id is the index of its first
// number.
const width = 4
const direct = 2
const shielded = 3

/**
 * Creates an LRU cache: a circular list from the newest to the oldest slot, which starts and ends
 * at slot 0, which is never used. Free slots are the oldest.
 */
export function openCache(records: number, capacity: number): Cache {
  const slotOf = new Int32Array(records)
  const untilS = new Float64Array((Math.min(capacity, records) + 1) * width)
  const ring = new Int32Array(untilS.buffer)
  const older = 0
  const newer = 1
  const held = 2
  for (let slot = 0; slot < untilS.length; slot += width) {
    ring[2 * slot + older] = slot + width
    ring[2 * slot + newer] = slot - width
    ring[2 * slot + held] = -1
  }
  ring[newer] = untilS.length - width
  ring[2 * (untilS.length - width) + older] = 0

  /** Moves a slot to the newest or the oldest end of the list. */
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
      const evicted = ring[2 * slot + held] as number
      if (evicted >= 0) slotOf[evicted] = 0
      ring[2 * slot + held] = record
      slotOf[record] = slot
      move(slot, true)
      return slot
    },
    drop(record) {
      const slot = slotOf[record] as number
      if (slot === 0) return
      slotOf[record] = 0
      ring[2 * slot + held] = -1
      move(slot, false)
    },
    untilS,
  }
}

export interface Popularity {
  /** The share of all reads that each record has. */
  readonly shares: Float64Array
  /**
   * Walker's alias method, two numbers per column: below the first, a random number selects the
   * column itself, otherwise the second, its alias.
   */
  readonly columns: Uint32Array
}

/** Returns Zipf's law: record k, from 1, is read in proportion to 1 / k ** exponent. */
export function zipf(records: number, exponent: number): Popularity {
  const shares = new Float64Array(records)
  let sum = 0
  // Adds the small ones first, for precision.
  for (let k = records; k > 0; k--) sum += shares[k - 1] = k ** -exponent
  for (let k = 0; k < records; k++) shares[k] = (shares[k] as number) / sum

  const height = shares.map((share) => share * records)
  const columns = new Uint32Array(2 * records)
  // Shares decrease, so the columns above the mean are the first ones. `large` fills low columns
  // until it is low itself.
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
  // The remaining columns are full, except for rounding.
  for (const k of low) columns[2 * k + 1] = k
  for (; (height[large] as number) >= 1; large++) columns[2 * large + 1] = large
  return { shares, columns }
}

/** Returns a function that draws a random record in constant time. */
export function sampler({ columns }: Popularity, random: Random): () => number {
  const records = columns.length / 2
  return () => {
    const column = Math.floor((random() / two32) * records)
    return random() < (columns[2 * column] as number) ? column : (columns[2 * column + 1] as number)
  }
}

/** Returns the generator sfc32 by Chris Doty-Humphrey, which yields 32 bits at a time. */
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
  for (let i = 0; i < 20; i++) next() // Mixes the seed into the state.
  return next
}

/** Draws an exponentially distributed time; infinite if the rate is 0. */
function exponential(random: Random, rate: number): number {
  return -Math.log((random() + 1) / (two32 + 1)) / rate
}

/**
 * Returns how long a record stays in an LRU cache (Che, Tung and Wang 2002): about the time in
 * which as many different records are read as fit into it.
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

/** Returns the hit rate of one location by Che's approximation, without purges and expiry. */
export function cheHitShare({ shares }: Popularity, capacity: number): number {
  const reads = characteristicTime(shares, capacity)
  return shares.reduce((sum, share) => sum + share * -Math.expm1(-share * reads), 0)
}

function difference(from: OriginRequests, to: OriginRequests): OriginRequests {
  return { direct: to.direct - from.direct, shielded: to.shielded - from.shielded }
}
