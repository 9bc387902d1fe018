import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";
import type { Meter } from "./telemetry.ts";
import type { StatusView } from "../operator/views.ts";

/** Mappings, hooks and channels that are named in a metric; the others are `other`. */
const MAX_NAMES = 200;

/** In seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Figures that are read when somebody asks, by their names. One whose name ends in `_total` only grows. */
export type Gauges = Record<string, Figures>;

interface Figures {
  help: string;
  labelNames?: string[];
  values: { labels?: Record<string, string>; value: number }[];
}

export interface Metrics extends Meter {
  /** The text format of Prometheus. */
  render(): Promise<{ contentType: string; text: string }>;
}

/** Metrics for Prometheus. `readGauges` gives what is a state and not a sum. */
export function createMetrics(readGauges: () => Promise<Gauges>): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
    new Counter({ name: `hookline_${name}`, help, labelNames, registers });
  const requests = counter("requests_total", "Requests to hooks, by the status of the answer.", ["hook", "status"]);
  const events = counter("events_total", "Recorded events.", ["mapping", "status"]);
  const runs = counter("runs_total", "Attempts at agent turns.", ["result"]);
  const deliveries = counter("deliveries_total", "Attempts at deliveries.", ["channel", "result"]);
  const rejections = counter("rejections_total", "Requests that were refused before they were recorded.", ["reason"]);
  const reloads = counter("reloads_total", "Reloads of the configuration.", ["result"]);
  const tokens = counter("tokens_total", "Tokens of agent turns.", ["direction"]);
  const seconds = new Histogram({
    name: "hookline_step_seconds",
    help: "How long the steps take: request (the whole answer), mapping, commit, turn, delivery.",
    labelNames: ["step"],
    buckets: BUCKETS,
    registers,
  });
  const [request, mapping, commit, turn, delivery] = ["request", "mapping", "commit", "turn", "delivery"].map((step) =>
    seconds.labels({ step }),
  );
  const gauges = new Map<string, Gauge<string> | Counter<string>>();
  const answers = createTally((hook, status, count) => requests.inc({ hook, status: String(status) }, count));
  const recorded = createTally((id, status, count) => events.inc({ mapping: id, status: String(status) }, count));
  const attempts = createTally((channel, result, count) => deliveries.inc({ channel, result: String(result) }, count));
  const refusals = createTally((reason, _, count) => rejections.inc({ reason }, count));

  return {
    answered({ hook, status, ms }) {
      answers.add(hook, status);
      request?.observe(ms / 1000);
    },
    recorded({ mapping: id, status, mappingMs, commitMs }) {
      recorded.add(id, status);
      if (mappingMs !== undefined) mapping?.observe(mappingMs / 1000);
      if (commitMs !== undefined) commit?.observe(commitMs / 1000);
    },
    turned({ result, ms, usage: { inputTokens = 0, outputTokens = 0 } = {} }) {
      runs.inc({ result });
      turn?.observe(ms / 1000);
      if (inputTokens > 0) tokens.inc({ direction: "input" }, inputTokens);
      if (outputTokens > 0) tokens.inc({ direction: "output" }, outputTokens);
    },
    delivered({ channel, result, ms }) {
      attempts.add(channel, result);
      delivery?.observe(ms / 1000);
    },
    rejected: (reason) => refusals.add(reason, ""),
    reloaded: (isGood) => reloads.inc({ result: isGood ? "ok" : "failed" }),
    async render() {
      for (const tally of [answers, recorded, attempts, refusals]) tally.flush();
      for (const [name, figures] of Object.entries(await readGauges())) show(name, figures);
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };

  function show(name: string, { help, labelNames = [], values }: Figures): void {
    const Metric = name.endsWith("_total") ? Counter : Gauge;
    const gauge = gauges.get(name) ?? new Metric<string>({ name, help, labelNames, registers });
    gauges.set(name, gauge);
    // A series without a value now, such as that of a removed mailbox, must not keep its last one.
    gauge.reset();
    for (const { labels = {}, value } of values) gauge.inc(labels, value);
  }
}

type Value = string | number;

/**
 * Counts by a name and a second label. The counter gets the counts when the metrics are read, because to add to it for each
 * request is slow. Bounds the names: each of them is a time series that is kept.
 */
function createTally(increase: (name: string, value: Value, count: number) => void) {
  const counts = new Map<string, Map<Value, number>>();

  return {
    add(name: string | undefined, value: Value): void {
      const values = counts.get(name ?? OTHER) ?? start(name ?? OTHER);
      values.set(value, (values.get(value) ?? 0) + 1);
    },
    flush(): void {
      for (const [name, values] of counts) {
        for (const [value, count] of values) increase(name, value, count);
        values.clear();
      }
    },
  };

  function start(name: string): Map<Value, number> {
    const kept = counts.size < MAX_NAMES ? name : OTHER;
    const values = counts.get(kept) ?? new Map<Value, number>();
    counts.set(kept, values);
    return values;
  }
}

const OTHER = "other";

/** The state of the service in `GET /metrics`. */
export function toGauges(status: StatusView): Gauges {
  const { sandbox, queue, config, lastReloadError, mail, version } = status;
  const one = (help: string, value: number): Gauges[string] => ({ help, values: [{ value }] });
  const memory = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    hookline_info: { help: "The version.", labelNames: ["version"], values: [{ labels: { version }, value: 1 }] },
    hookline_events: one("Events in the journal.", queue.events),
    hookline_pending_runs: one("Agent turns that are not finished.", queue.pendingRuns),
    hookline_pending_deliveries: one("Deliveries that are not finished.", queue.pendingDeliveries),
    hookline_pending_system_events: one("System events that no heartbeat has consumed.", queue.pendingSystemEvents),
    hookline_running: {
      help: "What is being executed.",
      labelNames: ["kind"],
      values: [
        { labels: { kind: "run" }, value: queue.runningRuns },
        { labels: { kind: "delivery" }, value: queue.runningDeliveries },
        { labels: { kind: "heartbeat" }, value: Number(queue.runningHeartbeat) },
      ],
    },
    hookline_sandbox_workers: one("Worker processes of the sandbox.", sandbox.children),
    hookline_sandbox_in_flight: one("Calls of transforms in progress.", sandbox.inFlight),
    hookline_sandbox_calls_total: one("Calls of transforms since the start.", sandbox.calls),
    hookline_sandbox_failures_total: one("Calls of transforms that failed since the start.", sandbox.failures),
    hookline_sandbox_recycled_total: one("Worker processes that were replaced since the start.", sandbox.recycled),
    hookline_open_breakers: one("Transforms whose circuit breaker is open.", sandbox.openBreakers.length),
    hookline_config_generation: one("The generation of the configuration.", config.generation),
    hookline_config_stale: one("1 if the last reload failed.", Number(lastReloadError !== null)),
    hookline_mailbox_up: {
      help: "1 if the mailbox is watched.",
      labelNames: ["mailbox"],
      values: mail
        .filter(({ folders }) => folders.length > 0)
        .map(({ name, state }) => ({
          labels: { mailbox: name },
          value: Number(state === "watching" || state === "catching-up"),
        })),
    },
    process_resident_memory_bytes: one("Memory of the process.", memory.rss),
    process_cpu_seconds_total: one("Processor time of the process since its start.", (user + system) / 1e6),
    nodejs_heap_used_bytes: one("Memory that objects use.", memory.heapUsed),
  };
}
