import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";
import type { Meter } from "./telemetry.ts";

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
  const nameHook = createNames();
  const nameMapping = createNames();
  const nameChannel = createNames();
  const nameReason = createNames();

  return {
    answered({ hook, status, ms }) {
      requests.inc({ hook: nameHook(hook), status: String(status) });
      request?.observe(ms / 1000);
    },
    recorded({ mapping: id, status, mappingMs, commitMs }) {
      events.inc({ mapping: nameMapping(id), status });
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
      deliveries.inc({ channel: nameChannel(channel), result });
      delivery?.observe(ms / 1000);
    },
    rejected: (reason) => rejections.inc({ reason: nameReason(reason) }),
    reloaded: (isGood) => reloads.inc({ result: isGood ? "ok" : "failed" }),
    async render() {
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

/** Bounds the values of a label: each of them is a time series that is kept. */
function createNames(): (name: string | undefined) => string {
  const known = new Set<string>();
  return (name) => {
    if (name === undefined) return "other";
    if (!known.has(name)) {
      if (known.size >= MAX_NAMES) return "other";
      known.add(name);
    }
    return name;
  };
}
