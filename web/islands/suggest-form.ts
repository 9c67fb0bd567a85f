// The form of a suggestion. It is sent when it is old enough, so that fast readers need not send it
// twice, and after some work if many suggestions arrive. Without scripts it works all the same.

/** Makes the form wait and work before it is sent. */
export function startSuggestForm(form: HTMLFormElement): void {
  const openedMs = performance.now()
  const waitMs = Number(form.dataset.wait)
  const bits = Number(form.dataset.proofOfWork ?? 0)
  const [nonce = ''] = fieldOf(form, 'form').value.split('.')
  let work: Promise<string> | undefined
  // Typing takes longer than the work.
  form.addEventListener('input', () => {
    if (bits > 0) work ??= findProofOfWork(nonce, bits)
  })
  let isReady = false
  form.addEventListener('submit', async (event) => {
    if (isReady) return
    event.preventDefault()
    const restMs = openedMs + waitMs - performance.now()
    if (bits > 0) work ??= findProofOfWork(nonce, bits)
    // Some more, because clocks differ.
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, restMs + 200)))
    fieldOf(form, 'proof_of_work').value = (await work?.catch(() => '')) ?? ''
    isReady = true
    form.requestSubmit(event.submitter)
  })
}

function fieldOf(form: HTMLFormElement, name: string): HTMLInputElement {
  return form.elements.namedItem(name) as HTMLInputElement
}

/** Hashes at the same time. */
const batch = 256
const maxNumber = 2 ** 26

/** Finds a number whose hash with the nonce begins with as many zero bits. */
async function findProofOfWork(nonce: string, bits: number): Promise<string> {
  const encoder = new TextEncoder()
  for (let first = 0; first < maxNumber; first += batch) {
    const digests = await Promise.all(
      Array.from({ length: batch }, (_, index) =>
        crypto.subtle.digest('SHA-256', encoder.encode(`${nonce}.${first + index}`)),
      ),
    )
    const found = digests.findIndex(
      (digest) => new DataView(digest).getUint32(0) >>> (32 - bits) === 0,
    )
    if (found !== -1) return String(first + found)
  }
  return ''
}
