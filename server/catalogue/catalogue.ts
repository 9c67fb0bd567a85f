// The front door. What can be found, and in which order: reads what other features write, and writes nothing.
export { list, tagOf } from './list.ts'
