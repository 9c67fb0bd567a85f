import { hash, randomBytes } from 'node:crypto'

// Secrets of sessions, links and challenges: 256 random bits, stored as a hash, as API tokens are.

/** Generates a secret that can be part of a URL or cookie. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Tells whether a text has the format of a secret. */
export function isWellFormedSecret(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}

/** Hashes a secret for the database. 256 random bits need neither salt nor a slow hash. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}
