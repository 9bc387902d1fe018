import type { Gauges } from "../telemetry/metrics.ts";
import type { StatusView } from "./views.ts";

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
