/** Spans, with a real SDK that keeps them in memory. */
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type JsonRequest, startJsonServer } from "./support/json-server.ts";
import { type Service, startService } from "./support/service.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SENDER = "b7ad6b7169203331";
const traceparent = `00-${TRACE}-${SENDER}-01`;

const exporter = new InMemorySpanExporter();
let servers: Awaited<ReturnType<typeof startJsonServer>>[];
let requests: { agent: JsonRequest[]; channel: JsonRequest[] };
let service: Service;

beforeEach(async () => {
  const agent: JsonRequest[] = [];
  const channel: JsonRequest[] = [];
  requests = { agent, channel };
  servers = await Promise.all([
    startJsonServer(answerTo(agent, TURN)),
    startJsonServer(answerTo(channel, { id: "p1" })),
  ]);
  const [{ url: agentUrl } = { url: "" }, { url: channelUrl } = { url: "" }] = servers;
  const provider = { kind: "openai-compatible", baseUrl: agentUrl } as const;
  service = await startService({
    config: {
      hooks: { mappings: [{ id: "orders", match: { path: "orders" }, transform: { module: "orders.ts" }, ...ROUTE }] },
      agents: { providers: { local: provider }, defaults: { model: "local/small" } },
      channels: { mattermost: { token: "a-token", baseUrl: channelUrl } },
    },
    files: {
      "transforms/orders.ts": `export default ({ payload }) => {
        if (payload.broken) throw new Error("secret-payload");
        return { kind: "agent", message: payload.text };
      };`,
    },
  });
});
afterEach(async () => {
  await service.close();
  await Promise.all(servers.map((server) => server.close()));
  for (const api of [trace, context, propagation]) api.disable();
  exporter.reset();
});

const ROUTE = { channel: "mattermost", to: "c".repeat(26) };

const TURN = {
  id: "1",
  created: 0,
  model: "small-2",
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "secret-reply" } }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
};

function answerTo(received: JsonRequest[], body: object): (request: JsonRequest) => { status: number; body: object } {
  return (request) => {
    received.push(request);
    return { status: JSON.stringify(request.body).includes("fail") ? 400 : "choices" in body ? 200 : 201, body };
  };
}

function startSdk(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
}

/** Waits for the span: it may end just after what it describes. */
async function span(name: string): Promise<ReadableSpan> {
  return vi.waitUntil(() => exporter.getFinishedSpans().find((finished) => finished.name === name), { interval: 5 });
}

function headerOf(sent: ReadableSpan): string {
  return `00-${TRACE}-${sent.spanContext().spanId}-01`;
}

test("one trace leads from the sender to the delivery", async () => {
  startSdk();
  const { body } = await service.post("orders", { text: "secret-payload" }, { traceparent, tracestate: "vendor=1" });
  expect(await service.settled(body.eventId)).toMatchObject({ deliveries: [{ state: "sent" }] });
  const names = ["POST hook", "mapping", "transform", "commit", "run", "turn", "delivery"];
  const spans = await Promise.all(names.map(span));
  const parents = spans.map(({ name, parentSpanContext }) => [
    name,
    spans.find((other) => other.spanContext().spanId === parentSpanContext?.spanId)?.name ?? parentSpanContext?.spanId,
  ]);
  expect(parents).toEqual([
    ["POST hook", SENDER],
    ["mapping", "POST hook"],
    ["transform", "mapping"],
    ["commit", "POST hook"],
    ["run", "POST hook"],
    ["turn", "run"],
    ["delivery", "run"],
  ]);
  expect(new Set(spans.map((each) => each.spanContext().traceId))).toEqual(new Set([TRACE]));

  const [request, mapping, , , run, turn, delivery] = spans;
  const { eventId } = body;
  expect(request?.attributes).toEqual({
    "hookline.hook": "orders",
    "hookline.event_id": eventId,
    "http.response.status_code": 202,
  });
  expect(mapping?.attributes).toEqual({ "hookline.mapping": "orders", "hookline.actions": 1 });
  expect(run?.attributes).toMatchObject({
    "hookline.event_id": eventId,
    "hookline.hook": "orders",
    "hookline.attempts": 1,
  });
  expect(run?.links[0]?.context.spanId).toBe(request?.spanContext().spanId);
  expect(turn?.attributes).toEqual({
    "gen_ai.response.model": "local/small-2",
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.usage.output_tokens": 3,
  });
  expect(delivery?.links[0]?.context.spanId).toBe(request?.spanContext().spanId);
  expect(delivery?.attributes).toMatchObject({ "hookline.channel": "mattermost", "hookline.attempts": 1 });
  expect(
    JSON.stringify(spans.map(({ name, attributes, events, status }) => [name, attributes, events, status])),
  ).not.toContain("secret");

  expect(turn && requests.agent[0]?.headers["traceparent"]).toBe(turn && headerOf(turn));
  expect(delivery && requests.channel[0]?.headers["traceparent"]).toBe(delivery && headerOf(delivery));
});

test("a heartbeat is a trace with links to the requests that it tells of", async () => {
  startSdk();
  const first = await service.post("orders", { text: "for the route" });
  await service.settled(first.body.eventId);
  const sent = requests.channel.length;
  exporter.reset();
  await service.post("wake", { text: "secret-payload", mode: "now" });
  const [request, heartbeat, turn, delivery] = await Promise.all(
    ["POST hook", "heartbeat", "turn", "delivery"].map(span),
  );
  expect(requests.channel.length).toBe(sent + 1);
  expect(heartbeat?.parentSpanContext).toBeUndefined();
  expect(heartbeat?.links.map((link) => link.context.spanId)).toContain(request?.spanContext().spanId);
  expect(Object.keys(heartbeat?.attributes ?? {})).toEqual(["hookline.run_id", "hookline.system_events"]);
  for (const below of [turn, delivery]) expect(below?.parentSpanContext?.spanId).toBe(heartbeat?.spanContext().spanId);
});

test("what fails is marked, without its message", async () => {
  startSdk();
  const { status } = await service.post("orders", { broken: true });
  expect(status).toBeGreaterThanOrEqual(400);
  for (const name of ["transform", "mapping", "POST hook"]) {
    expect(await span(name)).toMatchObject({ status: { code: 2 }, events: [] });
  }
  const { body } = await service.post("orders", { text: "fail" });
  await service.settled(body.eventId);
  for (const name of ["turn", "run"]) expect(await span(name)).toMatchObject({ status: { code: 2 }, events: [] });
});

test("a refused credential is a span too", async () => {
  startSdk();
  await service.post("orders", {}, { authorization: "Bearer wrong" });
  expect(await span("POST hook")).toMatchObject({
    attributes: { "http.response.status_code": 401 },
    status: { code: 0 },
  });
});

test("without an SDK nothing is passed on", async () => {
  const { body } = await service.post("orders", { text: "hello" }, { traceparent });
  expect(await service.settled(body.eventId)).toMatchObject({ deliveries: [{ state: "sent" }] });
  expect(requests.agent[0]?.headers).not.toHaveProperty("traceparent");
  expect(requests.channel[0]?.headers).not.toHaveProperty("traceparent");
});
