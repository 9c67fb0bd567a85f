// Entry point of the desk, the pages for people who sign in. routes.ts mounts them.
export { deleteOldCopies } from './queries.ts'
