import {
  type Attributes,
  type Context,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'

// A stand-in for the tracing SDK of an operator, loaded with --import: writes the kind, name and
// attributes of each span to standard error when it ends.

function startSpan(name: string, options: SpanOptions = {}): Span {
  const attributes: Attributes = { ...options.attributes }
  const span: Partial<Span> = {
    end: () => {
      process.stderr.write(`span ${options.kind} ${name}\n`)
      process.stderr.write(`attributes ${name} ${JSON.stringify(attributes)}\n`)
    },
    recordException: () => {},
    setAttribute(key, value) {
      attributes[key] = value
      return span as Span
    },
    setStatus({ code }) {
      attributes.error = code === SpanStatusCode.ERROR
      return span as Span
    },
    isRecording: () => true,
    spanContext: () => ({ traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 1 }),
  }
  return span as Span
}

type Work = (span: Span) => unknown

trace.setGlobalTracerProvider({
  getTracer: () => ({
    startSpan,
    startActiveSpan: (name: string, ...rest: (SpanOptions | Context | Work)[]) =>
      (rest.at(-1) as Work)(
        startSpan(name, typeof rest[0] === 'object' ? (rest[0] as SpanOptions) : {}),
      ),
  }),
})
