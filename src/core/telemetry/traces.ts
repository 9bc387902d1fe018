import type * as OpenTelemetry from "@opentelemetry/api";
import type { Attributes, Context, Span, SpanContext, SpanOptions } from "@opentelemetry/api";
import { HookError } from "../errors.ts";
import type { ClaimedDelivery, ClaimedRun, Entry, Journal } from "../journal/journal.ts";
import { loadAtFirstUse } from "../shared/system/package.ts";

const loadApi = loadAtFirstUse<typeof OpenTelemetry>("@opentelemetry/api");

/** Where every copy of the library keeps what an SDK has registered. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const globals: Record<symbol, { trace?: object } | undefined> = globalThis;

/** The library; undefined without an SDK. Then it is not even loaded, and no span costs more than this look. */
function findApi(): typeof OpenTelemetry | undefined {
  return globals[REGISTERED]?.trace ? loadApi() : undefined;
}

/** Adds attributes to a span: ids, names and sizes, never content. Without an SDK it is undefined. */
export type Describe = ((attributes: Attributes) => void) | undefined;

type Work<Result> = (describe: Describe) => Result;

/** Does the work in a span below the current one. Its attributes are only made if somebody records them. */
export function inSpan<Result>(name: string, work: Work<Result>): Result {
  const api = findApi();
  return api ? record(api, api.context.active(), { name }, work) : work(undefined);
}

/** Does the work in the span of a request, below the span that the sender names. */
export function inRequestSpan<Result>(method: string, headers: Record<string, unknown>, work: Work<Result>): Result {
  const api = findApi();
  if (!api) return work(undefined);
  const { context, propagation, trace, SpanKind } = api;
  const { traceparent, tracestate } = headers;
  const active = context.active();
  // An instrumentation of HTTP has read the headers already. Of others, such as `baggage`, a sender chooses the content.
  const parent = trace.getSpan(active) ? active : propagation.extract(active, { traceparent, tracestate });
  return record(api, parent, { name: `${method} hook`, kind: SpanKind.SERVER }, work);
}

/** Where stored work comes from, each as a `traceparent`. Without a parent its span is the first of a trace. */
interface SpanParents {
  parent?: string;
  links: (string | undefined)[];
}

/** Does stored work in a span. Its parents are only read with an SDK; if they cannot be read, the span has none. */
async function inStoredSpan<Result>(
  name: string,
  readParents: () => Promise<SpanParents>,
  work: Work<Promise<Result>>,
): Promise<Result> {
  const api = findApi();
  if (!api) return work(undefined);
  const { trace, ROOT_CONTEXT, SpanKind } = api;
  const parents = await readParents().catch((): SpanParents => ({ links: [] }));
  const parent = toSpanContext(parents.parent);
  const links = parents.links.flatMap((link) => toSpanContext(link) ?? []).map((context) => ({ context }));
  // The current context is that of whatever woke the dispatcher.
  const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
  return record(api, context, { name, kind: SpanKind.CONSUMER, links }, work);
}

/** Marks the current span as failed. A message could quote a payload. */
export function failSpan(): void {
  const api = findApi();
  api?.trace.getActiveSpan()?.setStatus({ code: api.SpanStatusCode.ERROR });
}

/** The current span as a `traceparent`. */
export function currentTraceparent(): string | undefined {
  const api = findApi();
  const current = api?.trace.getActiveSpan()?.spanContext();
  if (!current || !api?.isSpanContextValid(current)) return undefined;
  const { traceId, spanId, traceFlags } = current;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** The headers that tell another service the current span; undefined without an SDK. */
export function traceHeaders(): Record<string, string> | undefined {
  const api = findApi();
  if (!api) return undefined;
  const headers: Record<string, string> = {};
  api.propagation.inject(api.context.active(), headers);
  return headers;
}

function record<Result>(
  { context, trace, SpanStatusCode }: typeof OpenTelemetry,
  parent: Context,
  { name, ...options }: SpanOptions & { name: string },
  work: Work<Result>,
): Result {
  const span = trace.getTracer("hookline").startSpan(name, options, parent);
  const describe: Describe = span.isRecording() ? (attributes) => void span.setAttributes(attributes) : undefined;
  const fail = (error: unknown): void => {
    // By the conventions, what a sender did wrong is no error of the server.
    if (!(error instanceof HookError && error.status < 500)) span.setStatus({ code: SpanStatusCode.ERROR });
  };
  return endAfter(span, fail, () => context.with(trace.setSpan(parent, span), () => work(describe)));
}

function endAfter<Result>(span: Span, fail: (error: unknown) => void, work: () => Result): Result {
  let result: Result;
  try {
    result = work();
  } catch (error) {
    fail(error);
    span.end();
    throw error;
  }
  if (result instanceof Promise) void result.catch(fail).finally(() => span.end());
  else span.end();
  return result;
}

function toSpanContext(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = traceparent?.split("-") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

/** How many runs' spans are kept for their deliveries, which mostly follow at once. */
const MAX_KEPT = 1000;

/** A heartbeat is linked to the requests of this many of its events. */
const MAX_LINKS = 16;

/** Does work in spans that belong to the traces of the requests which led to it. */
export interface Spans {
  ofRun(run: ClaimedRun, work: () => Promise<boolean>): Promise<boolean>;
  ofDelivery(delivery: ClaimedDelivery, work: () => Promise<boolean>): Promise<boolean>;
  ofHeartbeat<Result>(runId: string, events: readonly Entry[], work: () => Promise<Result>): Promise<Result>;
}

export function createSpans(journal: Pick<Journal, "getEvent">): Spans {
  const kept = new Map<string, string>();
  return {
    ofRun({ id, eventId, hook, attempts }, work) {
      return inStoredSpan("run", parentsOf(eventId), (describe) => {
        keep(id);
        describe?.({
          "hookline.run_id": id,
          "hookline.event_id": eventId,
          "hookline.hook": hook,
          "hookline.attempts": attempts,
        });
        return work();
      });
    },
    ofDelivery({ runId, eventId, channel, attempts }, work) {
      return inStoredSpan("delivery", parentsOf(eventId, kept.get(runId)), (describe) => {
        describe?.({
          "hookline.run_id": runId,
          "hookline.event_id": eventId,
          "hookline.channel": channel,
          "hookline.attempts": attempts,
        });
        return work();
      });
    },
    ofHeartbeat(runId, events, work) {
      const eventIds = [...new Set(events.map(({ eventId }) => eventId))].slice(0, MAX_LINKS);
      const parents = async () => ({ links: await Promise.all(eventIds.map(readTraceparent)) });
      return inStoredSpan("heartbeat", parents, (describe) => {
        keep(runId);
        describe?.({ "hookline.run_id": runId, "hookline.system_events": events.length });
        return work();
      });
    },
  };

  /** Below a span that is kept, else below the request's. */
  function parentsOf(eventId: string | undefined, parent?: string): () => Promise<SpanParents> {
    return async () => {
      const request = await readTraceparent(eventId);
      return { parent: parent ?? request, links: [request] };
    };
  }

  async function readTraceparent(eventId: string | undefined): Promise<string | undefined> {
    return eventId === undefined ? undefined : (await journal.getEvent(eventId))?.traceparent;
  }

  function keep(runId: string): void {
    const current = currentTraceparent();
    if (current === undefined) return;
    kept.set(runId, current);
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  }
}
