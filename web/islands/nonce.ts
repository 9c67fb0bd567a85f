/**
 * What lets a style of ours into this page. Elements of other packages write it into their shadow
 * roots: see scripts/build.ts.
 */
export const styleNonce = document.querySelector<HTMLElement>('script[nonce]')?.nonce ?? ''
