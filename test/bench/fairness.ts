/**
 * Honest requests to one transform beside bad requests to another, which has answered before: a loop, a slow regular
 * expression and memory without end, many at once, and as the control the same number of harmless ones. Then bad payloads,
 * one a second, to the honest senders' own hook. The bad requests come from a process of their own, so that the honest
 * sender does not wait for it. A service that has just started is not measured, as in the other tables: until V8 has
 * compiled it, a request needs more CPU. Alone: `npm run build && node test/bench/fairness.ts`, with a part of a row's name for some.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BEARER, serve, TRANSFORM } from "./contestants.ts";
import { post } from "./load.ts";
import type { BenchServer } from "./server.ts";

const COMPILE_MS = 4000;
/** Honest requests at once before the measurement, each over a new connection, because a burst opens many. */
const WARM_UP_REQUESTS = 20;
const MEASURE_MS = 6000;
const HONEST_EVERY_MS = 10;
const BURSTS = [10, 60, 1100];
const ATTACKS: Record<string, string> = {
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

/** A row of the table: what a bad payload does, and how many come. */
interface Row {
  name: string;
  code: string;
  hook: "attacked" | "honest";
  burst: number;
  everyMs?: number;
}

const rows: Row[] = [
  { name: "no other requests", code: "", hook: "attacked", burst: 0 },
  ...BURSTS.flatMap((burst) => [
    // The cost of the same number of connections and requests alone.
    { name: `${burst} harmless requests at once`, code: "", hook: "attacked" as const, burst },
    ...Object.entries(ATTACKS).map(([kind, code]) => {
      return { name: `${burst} bad requests at once: ${kind}`, code, hook: "attacked" as const, burst };
    }),
  ]),
  ...Object.entries(ATTACKS).map(([kind, code]) => {
    const name = `one bad payload a second to the same hook: ${kind}`;
    return { name, code, hook: "honest" as const, burst: 1, everyMs: 1000 };
  }),
];

if (import.meta.main) {
  const [, , command = "", ...urls] = process.argv;
  if (command === "attack") await attack(urls[0]!);
  else console.table(await measureFairness(command));
}

/** Each row in a service of its own. `part`: only the rows with this in their names. */
export async function measureFairness(part = ""): Promise<Record<string, Figures>> {
  const table: Record<string, Figures> = {};
  for (const row of rows) if (row.name.includes(part)) table[row.name] = await measure(row);
  return table;
}

async function measure(row: Row): Promise<Figures> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-fairness-"));
  const server = await startHookline(folder, row.code);
  const url = (hook: string): string => server.url.replace(/\w+$/, hook);
  const attacker = fork(import.meta.filename, ["attack", url(row.hook)]);
  const agent = new Agent({ keepAlive: true });
  try {
    await once(attacker, "message");
    await warmUp(url("honest"));
    attacker.send({ burst: row.burst, everyMs: row.everyMs });
    return await sendHonest(async () => {
      const status = await post({ url: url("honest"), agent, headers: BEARER, body: "{}" });
      return status >= 200 && status < 300;
    });
  } finally {
    attacker.kill();
    await server.stop("SIGKILL");
    agent.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function warmUp(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: false });
  const request = { url, agent, headers: BEARER, body: "{}" };
  for (const startedAt = performance.now(); performance.now() - startedAt < COMPILE_MS;) {
    await Promise.all(Array.from({ length: WARM_UP_REQUESTS }, () => post(request)));
  }
}

/** In the attacker's process: makes the transform answer once, then waits for the order. */
async function attack(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const send = (body: object): Promise<number> => post({ url, agent, headers: BEARER, body: JSON.stringify(body) });
  await send({});
  process.send!("ready");
  const [order] = await once(process, "message");
  const { burst, everyMs }: Pick<Row, "burst" | "everyMs"> = order;
  const sendAll = (): void => {
    for (let count = 0; count < burst; count++) void send({ bad: true });
  };
  sendAll();
  if (everyMs !== undefined) setInterval(sendAll, everyMs);
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
  return serve(folder, mappings, BEARER, { hook: "honest" });
}
