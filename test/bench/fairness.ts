/**
 * Honest requests to one transform beside bad requests to another, which has answered before: a loop, a slow regular
 * expression and memory without end, many at once, and the same number of harmless ones. Then bad payloads, one a second, to the honest senders' own hook.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BEARER, serve, TRANSFORM } from "./contestants.ts";
import { post } from "./load.ts";
import type { BenchServer } from "./server.ts";

const MEASURE_MS = 6000;
const HONEST_EVERY_MS = 10;
const BURSTS = [10, 60, 1100];
const ATTACKS = {
  /** What so many connections and requests cost on their own. */
  "no harm": "",
  loop: "for (;;) {}",
  "regular expression": "/^(a+)+$/.test('a'.repeat(40) + 'b')",
  memory: "const all = []; for (;;) all.push(new Array(1e4).fill(1))",
};

interface Figures {
  honest: number;
  "p50 ms": number;
  "p99 ms": number;
  "worst ms": number;
  failed: number;
}

/** A row for each kind of attack and number of bad requests, in a service of its own. */
export async function measureFairness(): Promise<Record<string, Figures>> {
  const rows: Record<string, Figures> = { "no bad requests": await measure("", () => undefined) };
  for (const [name, code] of Object.entries(ATTACKS)) {
    for (const burst of BURSTS) {
      rows[`${burst} bad requests at once: ${name}`] = await measure(code, (send) => {
        for (let count = 0; count < burst; count += 1) void send("attacked", { bad: true });
      });
    }
  }
  rows["one bad payload a second to the same hook: loop"] = await measure(ATTACKS.loop, async (send, isOver) => {
    while (!isOver()) {
      void send("honest", { bad: true });
      await sleep(1000);
    }
  });
  return rows;
}

type Send = (hook: string, payload: object) => Promise<boolean>;

async function measure(code: string, attack: (send: Send, isOver: () => boolean) => unknown): Promise<Figures> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-fairness-"));
  const server = await startHookline(folder, code);
  const agent = new Agent({ keepAlive: true });
  const send: Send = async (hook, payload) => {
    const url = server.url.replace(/\w+$/, hook);
    const status = await post({ url, agent, headers: BEARER, body: JSON.stringify(payload) });
    return status >= 200 && status < 300;
  };
  let isOver = false;
  try {
    await send("attacked", {});
    const attacked = attack(send, () => isOver);
    const figures = await sendHonest(() => send("honest", {}));
    isOver = true;
    await attacked;
    return figures;
  } finally {
    await server.stop("SIGKILL");
    agent.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One request each 10 ms, whether the ones before are answered or not. */
async function sendHonest(send: () => Promise<boolean>): Promise<Figures> {
  const latencies: number[] = [];
  let failed = 0;
  const sent: Promise<void>[] = [];
  for (const startedAt = performance.now(); performance.now() - startedAt < MEASURE_MS;) {
    sent.push(sendOne());
    await sleep(HONEST_EVERY_MS);
  }
  await Promise.all(sent);
  latencies.sort((a, b) => a - b);
  const percentile = (share: number): number => Math.round(latencies[Math.floor(latencies.length * share)] ?? NaN);
  return {
    honest: latencies.length,
    "p50 ms": percentile(0.5),
    "p99 ms": percentile(0.99),
    "worst ms": Math.round(latencies.at(-1) ?? NaN),
    failed,
  };

  async function sendOne(): Promise<void> {
    const sentAt = performance.now();
    if (!(await send())) failed += 1;
    latencies.push(performance.now() - sentAt);
  }
}

function startHookline(folder: string, code: string): Promise<BenchServer> {
  const mappings = ["honest", "attacked"].map((name) => {
    // Two modules with the same code would be one.
    const module = `export default ({ payload }) => { if (payload.bad) { ${code} } return { text: "${name}" } };\n`;
    writeFileSync(path.join(folder, `${name}.ts`), module);
    return { match: { path: name }, ...TRANSFORM, transform: { module: `${name}.ts` } };
  });
  return serve(folder, mappings, BEARER, "honest");
}
