import type { SourceKind, Verdict } from '@talkshelf/contract'
import { OutboundError } from '../../platform/net/outbound.ts'
import type { ProbeAnswer, ProbeRequest } from '../../platform/net/probe.ts'

// What a probe of one kind of source is. The caller sends the requests, so it controls their pace
// and number.

/** A source as its host knows it. */
export interface ProbedSource {
  readonly kind: SourceKind
  /** The host that is asked first. */
  readonly host: string
  /** The id of the video at its host; for files and pages their URL. */
  readonly id: string
  /** The URL of the source. */
  readonly url: string
  /** The hash of an unlisted video at Vimeo; the file within an item of archive.org. */
  readonly part?: string
}

/**
 * Sends one request at the right time. Rejects with an OutboundError if there is no HTTP answer.
 * Other errors, such as that of an exhausted budget, reach the caller of the probe.
 */
export type Ask = (request: ProbeRequest) => Promise<ProbeAnswer>

/** A host refused before it could be asked, such as to send its robots.txt. */
export class HostRefused extends OutboundError {
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, retryAfterSeconds: number | undefined) {
    super('unreachable', message)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export interface ProbeResult {
  readonly verdict: Verdict
  /** Says for people what was answered, such as "oEmbed answers 404". Never text of the host. */
  readonly evidence: string
  /** The account that owns the video, as its host identifies it. */
  readonly owner?: string
  /** The URL at which a file or page is now. */
  readonly movedTo?: string
  /** How long the host wants to be left alone. */
  readonly retryAfterSeconds?: number
  readonly title?: string
  /** The length of the video. */
  readonly seconds?: number
}

/** Asks hosts of one kind. */
export interface Probe {
  /** Asks whether the source is there. Rejects only with errors of `ask` that are no answers. */
  look(ask: Ask, source: ProbedSource): Promise<ProbeResult>
  /**
   * Asks a second, independent question: `ok` if the source seems to be there, an away verdict if
   * not. Which one of these says nothing.
   */
  witness(ask: Ask, source: ProbedSource): Promise<ProbeResult>
}
