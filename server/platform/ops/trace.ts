import {
  type Attributes,
  context,
  type ProxyTracerProvider,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { Problem, problems } from '@talkshelf/contract'

// OpenTelemetry spans. They are recorded only if an SDK is loaded (node --import).

const tracer = trace.getTracer('talkshelf')
// An SDK is loaded before this module, or not at all.
const isEnabled =
  (trace.getTracerProvider() as Partial<ProxyTracerProvider>).getDelegateTracer?.('talkshelf') !==
  undefined

/**
 * Runs the work in the span of a request, which continues a trace named in the headers. `route` is
 * the method and the path with the names of its parameters. The names of the attributes are those
 * of the semantic conventions for HTTP.
 */
export function tracedRequest<T>(
  route: `${string} ${string}`,
  headers: object,
  work: () => T | Promise<T>,
): T | Promise<T> {
  if (!isEnabled) return work()
  const [method, path] = route.split(' ')
  const attributes = { 'http.request.method': method, 'http.route': path }
  return context.with(propagation.extract(context.active(), headers), () =>
    traced(route, SpanKind.SERVER, attributes, work),
  )
}

/** Returns the status of the response to a request whose work returned or threw this. */
function statusOf(result: unknown): number | undefined {
  if (result instanceof Problem) return problems[result.problem].status
  if (result instanceof Error) return undefined
  const { status } = (result ?? {}) as { status?: unknown }
  return typeof status === 'number' ? status : undefined
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
    const setStatus = (result: unknown) => {
      const status = kind === SpanKind.SERVER ? statusOf(result) : undefined
      if (status !== undefined) span.setAttribute('http.response.status_code', status)
      return status
    }
    const succeed = (result: T): T => {
      setStatus(result)
      return result
    }
    const fail = (error: unknown): never => {
      // What the client did wrong is no error of the server.
      if ((setStatus(error) ?? 500) >= 500) {
        span.recordException(error as Error)
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      throw error
    }
    let isPending = false
    try {
      const result = work()
      if (!(result instanceof Promise)) return succeed(result)
      isPending = true
      return result.then(succeed, fail).finally(() => span.end())
    } catch (error) {
      return fail(error)
    } finally {
      if (!isPending) span.end()
    }
  })
}
