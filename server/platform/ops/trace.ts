import {
  type Attributes,
  context,
  type ProxyTracerProvider,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'

// OpenTelemetry spans. They are recorded only if an SDK is loaded (node --import).

const tracer = trace.getTracer('talkshelf')
// An SDK is loaded before this module, or not at all.
const isEnabled =
  (trace.getTracerProvider() as Partial<ProxyTracerProvider>).getDelegateTracer?.('talkshelf') !==
  undefined

/** Runs the work in the span of a request, which continues a trace named in the headers. */
export function tracedRequest<T>(
  name: string,
  headers: object,
  work: () => T | Promise<T>,
): T | Promise<T> {
  if (!isEnabled) return work()
  return context.with(propagation.extract(context.active(), headers), () =>
    traced(name, SpanKind.SERVER, {}, work),
  )
}

/** Runs the work in the span of a database query. */
export async function tracedQuery<T>(text: string, work: () => Promise<T>): Promise<T> {
  if (!isEnabled) return work()
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
    const fail = (error: unknown): never => {
      span.recordException(error as Error)
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    }
    let isPending = false
    try {
      const result = work()
      if (!(result instanceof Promise)) return result
      isPending = true
      return result.catch(fail).finally(() => span.end())
    } catch (error) {
      return fail(error)
    } finally {
      if (!isPending) span.end()
    }
  })
}
