// So many at once, so many waiting, and nobody else: what nobody has time for is refused at once.

export class LineIsFull extends Error {}

export interface WaitingLine {
  run<T>(work: () => Promise<T>): Promise<T>
}

export function openLine(atOnce: number, mostWaiting: number): WaitingLine {
  let underWay = 0
  const waiting: (() => void)[] = []
  return {
    async run(work) {
      if (underWay < atOnce) underWay++
      else {
        if (waiting.length >= mostWaiting) throw new LineIsFull('Too many are waiting')
        // Whoever goes hands the place on: nobody can come in between.
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else underWay--
      }
    },
  }
}
