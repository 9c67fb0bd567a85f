import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

// The format of tokens: talkshelf_<43 characters: 256 bits><6 characters: checksum>. The prefix is
// for secret scanners, and the checksum detects mistyped tokens without a lookup.

const prefix = 'talkshelf_'
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Generates a token. */
export function makeToken(): string {
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43)
  return prefix + secret + checksum(secret)
}

/** Returns whether a token has the right format and checksum. */
export function isWellFormedToken(token: string): boolean {
  const [, secret, sum] = /^talkshelf_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/.exec(token) ?? []
  return secret !== undefined && checksum(secret) === sum
}

const checksum = (secret: string) => base62(BigInt(crc32(secret)), 6)

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n)
    text = alphabet[Number(rest % 62n)] + text
  return text
}
