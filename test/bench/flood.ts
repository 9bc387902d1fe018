/**
 * An unauthenticated flood of 256 KiB bodies with wrong signatures, as fast as 64 connections can, beside one honest
 * sender. Prints the memory of the service, and the honest sender's latency without and with the flood:
 * `npm run build && node test/bench/flood.ts`.
 */
import { fork } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { startServer } from "./server.ts";

const SECRET = "bench-secret-0123456789abcdef";
const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);
const CONNECTIONS = 64;
const honest = JSON.stringify({ title: "t".repeat(900) });
const hostile = Buffer.alloc(256 * 1024, 0x20);
const sign = (body: string): Record<string, string> => ({
  "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
});

if (process.argv[2] === undefined) await measure();
else await flood(process.argv[2]);

async function measure(): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-flood-"));
  const mapping = { match: { path: "bench" }, auth: { scheme: "github", secret: SECRET }, action: "wake" };
  const more = { wakeMode: "next-heartbeat", textTemplate: "{{title}}" };
  const hooks = { enabled: true, token: SECRET.toUpperCase(), mappings: [{ ...mapping, ...more }] };
  const config = path.join(folder, "webhooks.json5");
  writeFileSync(config, JSON.stringify({ hooks, log: { level: "error" } }));
  const program = path.join(import.meta.dirname, "../../dist/cli/webhooks.js");
  const server = await startServer({
    command: [process.execPath, program, "serve", "--port", "0", "--config", config],
    hookPath: "/hooks/bench",
    headers: sign(honest),
    payload: honest,
  });

  let peakMb = 0;
  const sampler = setInterval(() => (peakMb = Math.max(peakMb, server.usage().residentMb)), 250);
  const quiet = await sendHonest(server.url, SECONDS);
  const quietMb = peakMb;
  const flooder = fork(import.meta.filename, [server.url]);
  await sendHonest(server.url, 1);
  const loud = await sendHonest(server.url, SECONDS);
  flooder.send("stop");
  const [refused] = await once(flooder, "message");
  clearInterval(sampler);
  console.table({
    quiet: { ...quiet, "memory MB": Math.round(quietMb) },
    flood: { ...loud, "memory MB": Math.round(peakMb) },
  });
  const perSecond = Math.round(Number(refused) / SECONDS);
  console.log(
    `${perSecond} bodies of 256 KiB refused a second. p99 × ${(loud["p99 ms"] / quiet["p99 ms"]).toFixed(1)}`,
  );
  await server.stop();
  rmSync(folder, { recursive: true });
}

/** Up to fifty requests a second, one after another, from an address of its own. */
async function sendHonest(url: string, seconds: number) {
  const agent = new Agent({ keepAlive: true, localAddress: "127.0.0.2" });
  const latencies: number[] = [];
  let failed = 0;
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const sentAt = performance.now();
    if ((await post(url, agent, Buffer.from(honest), sign(honest))) !== 200) failed++;
    latencies.push(performance.now() - sentAt);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  agent.destroy();
  latencies.sort((one, other) => one - other);
  const at = (share: number): number => Math.round((latencies[Math.floor(latencies.length * share)] ?? 0) * 100) / 100;
  return { requests: latencies.length, failed, "p50 ms": at(0.5), "p99 ms": at(0.99) };
}

/** From many addresses, so that few of the requests are throttled. Runs in a process of its own until it is told to stop. */
async function flood(url: string): Promise<void> {
  const state = { isRunning: true, count: 0 };
  process.once("message", () => (state.isRunning = false));
  const loops = Array.from({ length: CONNECTIONS }, async (_, index) => {
    for (let round = 1; state.isRunning; round++) {
      const agent = new Agent({ keepAlive: true, localAddress: `127.1.${index}.${round % 250}` });
      for (let repeat = 0; state.isRunning && repeat < 20; repeat++) {
        await post(url, agent, hostile, { "x-hub-signature-256": `sha256=${"0".repeat(64)}` });
        state.count++;
      }
      agent.destroy();
    }
  });
  await Promise.all(loops);
  process.send?.(state.count);
  process.disconnect();
}

function post(url: string, agent: Agent, body: Buffer, credential: Record<string, string>): Promise<number> {
  const headers = { ...credential, "content-type": "application/json", "content-length": body.length };
  return new Promise((resolve) => {
    request(url, { method: "POST", agent, headers }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    })
      .on("error", () => resolve(0))
      .end(body);
  });
}
