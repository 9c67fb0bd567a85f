import {
  type Attributes,
  context,
  type ProxyTracerProvider,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'

// Spans for whoever attaches an OpenTelemetry SDK (node --import). Without one nothing is done.

const tracer = trace.getTracer('talkshelf')
// An SDK is there before us, or not at all.
const isWatched =
  (trace.getTracerProvider() as Partial<ProxyTracerProvider>).getDelegateTracer?.('talkshelf') !==
  undefined

/** The span of a request; it goes on from the caller's, if the headers name one. */
export function tracedRequest<T>(
  name: string,
  headers: object,
  work: () => T | Promise<T>,
): T | Promise<T> {
  if (!isWatched) return work()
  return context.with(propagation.extract(context.active(), headers), () =>
    traced(name, SpanKind.SERVER, {}, work),
  )
}

export async function tracedQuery<T>(text: string, work: () => Promise<T>): Promise<T> {
  if (!isWatched) return work()
  return traced(
    'postgresql',
    SpanKind.CLIENT,
    { 'db.system.name': 'postgresql', 'db.query.text': text },
    work,
  )
}

function traced<T>(
  name: string,
  kind: SpanKind,
  attributes: Attributes,
  work: () => T | Promise<T>,
): T | Promise<T> {
  return tracer.startActiveSpan(name, { kind, attributes }, (span) => {
    const failed = (error: unknown): never => {
      span.recordException(error as Error)
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    }
    let isUnderWay = false
    try {
      const result = work()
      if (!(result instanceof Promise)) return result
      isUnderWay = true
      return result.catch(failed).finally(() => span.end())
    } catch (error) {
      return failed(error)
    } finally {
      if (!isUnderWay) span.end()
    }
  })
}
