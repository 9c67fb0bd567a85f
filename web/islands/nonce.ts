/**
 * The nonce that allows styles on this page. Elements of other packages use it in their shadow
 * roots: see scripts/vite-csp.ts.
 */
export const styleNonce = document.querySelector<HTMLElement>('script[nonce]')?.nonce ?? ''
