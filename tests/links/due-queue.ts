// A priority queue of numbers by time: a binary heap in typed arrays, for a million entries.

export class DueQueue {
  #times = new Float64Array(64)
  #ids = new Int32Array(64)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Returns the time of the first entry, or infinity. */
  get time(): number {
    return this.#size > 0 ? (this.#times[0] as number) : Number.POSITIVE_INFINITY
  }

  /** Returns the first entry. The queue must not be empty. */
  get id(): number {
    return this.#ids[0] as number
  }

  push(time: number, id: number): void {
    if (this.#size === this.#times.length) this.#grow()
    let index = this.#size++
    while (index > 0) {
      const parent = (index - 1) >> 1
      if ((this.#times[parent] as number) <= time) break
      this.#move(parent, index)
      index = parent
    }
    this.#set(index, time, id)
  }

  /** Removes the first entry. */
  pop(): void {
    const last = --this.#size
    const time = this.#times[last] as number
    const id = this.#ids[last] as number
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= last) break
      if (child + 1 < last && this.#timeOf(child + 1) < this.#timeOf(child)) child++
      if (this.#timeOf(child) >= time) break
      this.#move(child, index)
      index = child
    }
    if (last > 0) this.#set(index, time, id)
  }

  #timeOf(index: number): number {
    return this.#times[index] as number
  }

  #move(from: number, to: number): void {
    this.#set(to, this.#times[from] as number, this.#ids[from] as number)
  }

  #set(index: number, time: number, id: number): void {
    this.#times[index] = time
    this.#ids[index] = id
  }

  #grow(): void {
    const times = new Float64Array(2 * this.#times.length)
    const ids = new Int32Array(2 * this.#ids.length)
    times.set(this.#times)
    ids.set(this.#ids)
    this.#times = times
    this.#ids = ids
  }
}
