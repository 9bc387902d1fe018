/**
 * The cost of metrics: the CPU of counting and timing a hook, beside the CPU of the whole hook, in alternating rounds.
 * `npm run build && node test/bench/metrics.ts`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createActivity } from "../../src/core/telemetry/activity.ts";
import { load } from "./load.ts";
import { type BenchServer, startServer } from "./server.ts";

const ROUNDS = 7;
const CALLS = 100_000;
const TOKEN = "bench-token-0123456789abcdef";
const headers = { authorization: `Bearer ${TOKEN}` };
const payload = JSON.stringify({ text: "Disk on web-3 is at 97 %", mode: "next-heartbeat" });

const folder = mkdtempSync(path.join(tmpdir(), "hookline-metrics-"));
const config = path.join(folder, "webhooks.json5");
writeFileSync(config, JSON.stringify({ hooks: { enabled: true, token: TOKEN }, log: { level: "silent" } }));
const program = path.join(import.meta.dirname, "../../dist/cli/webhooks.js");
const server = await startServer({
  command: [process.execPath, program, "serve", "--port", "0", "--config", config],
  hookPath: "/hooks/wake",
  headers,
  payload,
});
const meter = createActivity();
try {
  countHooks();
  await measureHook(server);
  const rounds: { meter: number; hook: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({ meter: countHooks(), hook: await measureHook(server) });
  }
  const ofMeter = median(rounds.map((round) => round.meter));
  const ofHook = median(rounds.map((round) => round.hook));
  const shares = rounds.map((round) => (100 * round.meter) / round.hook);
  console.log(`metrics ${ofMeter.toFixed(2)} µs of the ${ofHook.toFixed(0)} µs of CPU that a wake takes`);
  console.log(`share: median ${median(shares).toFixed(1)} %, highest ${Math.max(...shares).toFixed(1)} %`);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Microseconds of CPU a hook. */
function countHooks(): number {
  const before = process.cpuUsage();
  for (let call = 0; call < CALLS; call++) {
    meter.recorded({ mapping: "wake", status: "accepted", mappingMs: 0.1, commitMs: 0.5 + (call % 7) });
    meter.answered({ hook: "wake", status: 200, ms: 1 + (call % 7) });
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

async function measureHook({ url, usage }: BenchServer): Promise<number> {
  const before = usage().cpuSeconds;
  const { requests } = await load({ url, headers, payload, connections: 16, seconds: 2 });
  return ((usage().cpuSeconds - before) * 1e6) / requests;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}
