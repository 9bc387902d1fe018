/**
 * An unauthenticated flood of 256 KiB bodies with wrong signatures from 64 connections, beside one honest sender. The bodies
 * come in bursts, one on each connection at once, at a rate that leaves the two cores time: else the ratio would only show
 * that the senders wait for a core. Prints the memory of the service, and the honest latency without and with the flood:
 * `npm run build && node test/bench/flood.ts`.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { setPriority, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BODY_1KB, serve, sign, SIGNED } from "./contestants.ts";
import { post } from "./load.ts";
import type { BenchServer } from "./server.ts";

const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const ROUNDS = 3;
const CONNECTIONS = 64;
/** Hostile bodies a second: 512 Mbit/s. */
const RATE = Number(process.env.BENCH_RATE ?? 256);
const HONEST_RATE = 100;
const honest = BODY_1KB;
const hostile = Buffer.alloc(256 * 1024, 0x20);
const HONEST = sign(honest);
const FORGED = { "x-hub-signature-256": `sha256=${"0".repeat(64)}` };

if (process.argv[2] === undefined) await measure();
else await flood(process.argv[2]);

async function measure(): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-flood-"));
  const server = await serve(folder, [{ match: { path: "bench" }, ...SIGNED, textTemplate: "{{title}}" }], HONEST);
  const flooder = fork(import.meta.filename, [server.url]);
  await once(flooder, "message");

  const quiet: Phase[] = [];
  const loud: Phase[] = [];
  await sendHonest(server.url, 2);
  // In turn, so that what else the machine does falls on both alike.
  for (let round = 0; round < ROUNDS; round++) {
    quiet.push(await measurePhase(server));
    flooder.send("start");
    const phase = await measurePhase(server);
    flooder.send("stop");
    loud.push({ ...phase, bodies: await nextNumber(flooder) });
  }
  flooder.kill();
  const [before, during] = [summarize(quiet), summarize(loud)];
  console.table({ quiet: before, flood: during });
  console.log(`p99 × ${(during["p99 ms"] / before["p99 ms"]).toFixed(1)}, over ${ROUNDS} × ${SECONDS} s of each.`);
  await server.stop();
  rmSync(folder, { recursive: true });
}

interface Phase {
  latencies: number[];
  failed: number;
  /** After the phase. */
  memoryMb: number;
  /** The CPU time of the service, in seconds. */
  cpu: number;
  /** Hostile bodies that were answered. */
  bodies?: number;
}

async function measurePhase(server: BenchServer): Promise<Phase> {
  const before = server.usage();
  const result = await sendHonest(server.url, SECONDS);
  const { cpuSeconds, residentMb } = server.usage();
  return { ...result, memoryMb: residentMb, cpu: cpuSeconds - before.cpuSeconds };
}

function summarize(phases: Phase[]) {
  const sum = (figure: (phase: Phase) => number): number => phases.reduce((total, phase) => total + figure(phase), 0);
  const latencies = phases.flatMap((phase) => phase.latencies).toSorted((one, other) => one - other);
  const at = (share: number): number => Math.round((latencies[Math.floor(latencies.length * share)] ?? 0) * 100) / 100;
  const seconds = ROUNDS * SECONDS;
  return {
    requests: latencies.length,
    failed: sum(({ failed }) => failed),
    "p50 ms": at(0.5),
    "p99 ms": at(0.99),
    "memory MB": Math.round(Math.max(...phases.map(({ memoryMb }) => memoryMb))),
    "CPU % of a core": Math.round((sum(({ cpu }) => cpu) / seconds) * 100),
    "hostile bodies/s": Math.round(sum(({ bodies = 0 }) => bodies) / seconds),
  };
}

/** A hundred requests a second, whether or not those before are answered, from an address of its own. */
async function sendHonest(url: string, seconds: number): Promise<Pick<Phase, "latencies" | "failed">> {
  const agent = new Agent({ keepAlive: true, localAddress: "127.0.0.2" });
  const latencies: number[] = [];
  let failed = 0;
  const startedAt = performance.now();
  const sent = Array.from({ length: seconds * HONEST_RATE }, async (_, index) => {
    const dueAt = startedAt + (index * 1000) / HONEST_RATE;
    await sleep(dueAt - startedAt);
    const sentAt = performance.now();
    if ((await post({ url, agent, headers: HONEST, body: honest })) !== 200) failed++;
    latencies.push(performance.now() - sentAt);
  });
  await Promise.all(sent);
  agent.destroy();
  return { latencies, failed };
}

async function nextNumber(child: ChildProcess): Promise<number> {
  const [value] = await once(child, "message");
  return Number(value);
}

/**
 * From many addresses, so that few of the requests are throttled. Runs in a process of its own, and yields to the honest
 * sender, which would otherwise wait for this process instead of the service.
 */
async function flood(url: string): Promise<void> {
  setPriority(5);
  const state = { isRunning: false, sent: 0, answered: 0 };
  process.on("message", (message) => {
    state.isRunning = message === "start";
    if (message === "stop") process.send?.(state.answered);
    state.answered = 0;
  });
  process.send?.("ready");
  for (let burst = 1; ; burst++) {
    const nextAt = performance.now() + (CONNECTIONS * 1000) / RATE;
    if (state.isRunning) await sendBurst(url, burst);
    await sleep(Math.max(0, nextAt - performance.now()));
  }

  async function sendBurst(to: string, burst: number): Promise<void> {
    const bodies = Array.from({ length: CONNECTIONS }, async (_, index) => {
      const agent = new Agent({ localAddress: `127.1.${index}.${1 + (burst % 250)}` });
      await post({ url: to, agent, headers: FORGED, body: hostile });
      state.answered++;
    });
    await Promise.all(bodies);
  }
}
