import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { JournalStats } from "../journal/journal.ts";
import type { MailStatus } from "../ports/mail-status.ts";
import type { SandboxStatus } from "../transforms/runner.ts";
import { type Activity, BUCKETS } from "./activity.ts";

/** The text format of Prometheus. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The state of the service that gauges show. */
interface MeasuredStatus {
  version: string;
  config: { generation: number };
  /** null: the last reload succeeded. */
  lastReloadError: object | null;
  sandbox: SandboxStatus;
  queue: JournalStats & ReturnType<Dispatcher["status"]>;
  mail: (Pick<MailStatus, "name" | "state"> & { folders: unknown[] })[];
}

interface Sample {
  /** `_bucket`, `_sum` or `_count` of a histogram. */
  suffix?: string;
  labels?: Record<string, string | number>;
  value: number;
}

interface Gauge {
  help: string;
  samples: Sample[];
}

const COUNTERS: { key: keyof Activity["counts"]; help: string; labels: [name: string, second?: string] }[] = [
  { key: "requests", help: "Requests to hooks, by the status of the answer.", labels: ["hook", "status"] },
  { key: "events", help: "Recorded events.", labels: ["mapping", "status"] },
  {
    key: "repeats",
    help: "Requests, or items of them, that repeat an earlier one and were not executed.",
    labels: ["hook"],
  },
  { key: "runs", help: "Attempts at agent turns.", labels: ["result"] },
  { key: "calls", help: "Calls of tool sets that models asked for.", labels: ["set", "result"] },
  { key: "questions", help: "Questions to a person.", labels: ["kind"] },
  { key: "deliveries", help: "Attempts at deliveries.", labels: ["channel", "result"] },
  { key: "rejections", help: "Requests that were refused before they were recorded.", labels: ["reason"] },
  { key: "reloads", help: "Reloads of the configuration.", labels: ["result"] },
  { key: "tokens", help: "Tokens of agent turns.", labels: ["direction"] },
];

const STEPS = "How long the steps take: request (the whole answer), mapping, commit, turn, delivery.";

/** Writes the service's counts and its state for Prometheus. */
export function writeMetrics(
  { counts, durations }: Pick<Activity, "counts" | "durations">,
  status: MeasuredStatus,
): string {
  const counters = COUNTERS.map(({ key, help, labels: [name, second] }) => {
    const samples = counts[key].list().map((entry) => ({
      labels: { [name]: entry.name, ...(second !== undefined && { [second]: entry.label }) },
      value: entry.count,
    }));
    return write(`hookline_${key}_total`, "counter", { help, samples });
  });
  const steps = Object.entries(durations).flatMap(([step, { read }]) => toHistogram(step, read()));
  const gauges = Object.entries(toGauges(status)).map(([name, gauge]) =>
    // One that ends in `_total` only grows.
    write(name, name.endsWith("_total") ? "counter" : "gauge", gauge),
  );
  return [...counters, write("hookline_step_seconds", "histogram", { help: STEPS, samples: steps }), ...gauges].join(
    "\n",
  );
}

/** The bucket of a bound counts everything up to it. */
function toHistogram(step: string, { counts, sumSeconds }: { counts: number[]; sumSeconds: number }): Sample[] {
  let total = 0;
  const buckets = counts.map((count, index): Sample => {
    total += count;
    return { suffix: "_bucket", labels: { le: BUCKETS[index] ?? "+Inf", step }, value: total };
  });
  if (total === 0) return [];
  const labels = { step };
  return [...buckets, { suffix: "_sum", labels, value: sumSeconds }, { suffix: "_count", labels, value: total }];
}

function write(name: string, type: "counter" | "gauge" | "histogram", { help, samples }: Gauge): string {
  const lines = samples.map(
    ({ suffix = "", labels = {}, value }) => `${name}${suffix}${writeLabels(labels)} ${value}\n`,
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function writeLabels(labels: Record<string, string | number>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escape(String(value))}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/** The state of the service in `GET /metrics`. */
function toGauges(status: MeasuredStatus): Record<string, Gauge> {
  const { sandbox, queue, config, lastReloadError, mail, version } = status;
  const one = (help: string, value: number): Gauge => ({ help, samples: [{ value }] });
  const memory = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    hookline_info: { help: "The version.", samples: [{ labels: { version }, value: 1 }] },
    hookline_events: one("Events in the journal.", queue.events),
    hookline_pending_runs: one("Agent turns that are not finished.", queue.pendingRuns),
    hookline_pending_deliveries: one("Deliveries that are not finished.", queue.pendingDeliveries),
    hookline_pending_system_events: one("System events that no heartbeat has consumed.", queue.pendingSystemEvents),
    hookline_running: {
      help: "What is being executed.",
      samples: [
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
      samples: mail
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
