/**
 * Compares in one run: a bare node:http server that parses JSON (the floor), this service with a template and with a
 * sandboxed transform, both durable before they answer, and Debian's `webhook` if it is installed.
 * Requests are 1 KB, checked by bearer token. CPU and memory are summed over all processes of each server.
 */
import { createHmac } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { measureFairness } from "./fairness.ts";
import { load } from "./load.ts";
import { type BenchServer, startServer } from "./server.ts";

const root = path.join(import.meta.dirname, "../..");
const SECONDS = Number(process.env.BENCH_SECONDS ?? 6);
const ROUNDS = 3;
const TOKEN = "bench-token-0123456789abcdef";
const payload = JSON.stringify({ id: 7, repository: { full_name: "a/b" }, title: "t".repeat(900) });

const BEARER = { authorization: `Bearer ${TOKEN}` };
const SIGNED = { "x-hub-signature-256": `sha256=${createHmac("sha256", TOKEN).update(payload).digest("hex")}` };

interface Contestant {
  name: string;
  start(folder: string): Promise<BenchServer>;
}

const contestants: Contestant[] = [
  { name: "node:http + JSON.parse (the floor)", start: startFloor },
  { name: "hookline, template, wake", start: (folder) => startHookline(folder, wake) },
  { name: "hookline, template, wake, signed by GitHub", start: (folder) => startHookline(folder, signed) },
  { name: "hookline, template, agent turn by echo", start: (folder) => startHookline(folder, agent) },
  { name: "hookline, sandboxed transform, wake", start: (folder) => startHookline(folder, transform) },
  ...(existsSync("/usr/bin/webhook") ? [{ name: "webhook (Debian)", start: startPeer }] : []),
];

const wake = {
  action: "wake",
  wakeMode: "next-heartbeat",
  textTemplate: "{{repository.full_name}}: {{title}}",
};
const signed = { ...wake, auth: { scheme: "github", secret: TOKEN } };
const agent = {
  messageTemplate: "{{repository.full_name}}: {{title}}",
  deliver: false,
  wakeMode: "next-heartbeat",
};
const transform = { action: "wake", wakeMode: "next-heartbeat", transform: { module: "bench.ts" } };
const TRANSFORM = "export default ({ payload }) => ({ text: `${payload.repository.full_name}: ${payload.title}` });\n";

const rows = new Map<string, Awaited<ReturnType<typeof measure>>[]>();
for (let round = 0; round < ROUNDS; round += 1) {
  for (const contestant of contestants) {
    rows.set(contestant.name, [...(rows.get(contestant.name) ?? []), await measure(contestant)]);
  }
}
print();
console.table(await measureFairness());
console.log("Honest requests, one each 10 ms for 6 s, while bad requests to a proven transform are under way.");

async function measure({ start }: Contestant) {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-bench-"));
  const server = await start(folder);
  try {
    await load({ ...server, payload, seconds: 1 });
    const before = server.usage();
    const result = await load({ ...server, payload, seconds: SECONDS });
    const after = server.usage();
    const cpuMicros = ((after.cpuSeconds - before.cpuSeconds) * 1e6) / result.requests;
    return { ...result, cpuMicros, residentMb: after.residentMb, startSeconds: server.startSeconds };
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function print(): void {
  const floor = median("node:http + JSON.parse (the floor)", "cpuMicros");
  console.table(
    Object.fromEntries(
      contestants.map(({ name }) => [
        name,
        {
          "requests/s": Math.round(median(name, "perSecond")),
          "p50 ms": toHundredths(median(name, "p50")),
          "p99 ms": toHundredths(median(name, "p99")),
          "CPU µs/request": toHundredths(median(name, "cpuMicros")),
          "× floor": toHundredths(median(name, "cpuMicros") / floor),
          "resident MB": Math.round(median(name, "residentMb")),
          "first 2xx s": toHundredths(median(name, "startSeconds")),
          failed: median(name, "failed"),
        },
      ]),
    ),
  );
  console.log(`Medians of ${ROUNDS} rounds of ${SECONDS} s, 16 connections, 1 KB bodies.`);
}

function median(
  name: string,
  figure: "perSecond" | "p50" | "p99" | "cpuMicros" | "residentMb" | "startSeconds" | "failed",
): number {
  const values = (rows.get(name) ?? []).map((row) => row[figure]).toSorted((a, b) => a - b);
  return values[Math.floor(values.length / 2)] ?? Number.NaN;
}

function toHundredths(value: number): number {
  return Math.round(value * 100) / 100;
}

function startFloor(): Promise<BenchServer> {
  return startServer({
    command: [process.execPath, path.join(import.meta.dirname, "floor.ts")],
    env: { TOKEN },
    hookPath: "/hooks/bench",
    headers: BEARER,
    payload,
  });
}

function startHookline(folder: string, mapping: object): Promise<BenchServer> {
  writeFileSync(path.join(folder, "bench.ts"), TRANSFORM);
  writeFileSync(
    path.join(folder, "webhooks.json5"),
    JSON.stringify({
      hooks: {
        enabled: true,
        token: TOKEN,
        transformsDir: ".",
        mappings: [{ match: { path: "bench" }, ...mapping }],
      },
      log: { level: "error" },
    }),
  );
  return startServer({
    command: [
      process.execPath,
      path.join(root, "dist/cli/webhooks.js"),
      "serve",
      "--port",
      "0",
      "--config",
      path.join(folder, "webhooks.json5"),
    ],
    hookPath: "/hooks/bench",
    headers: "auth" in mapping ? SIGNED : BEARER,
    payload,
  });
}

function startPeer(folder: string): Promise<BenchServer> {
  const rule = {
    match: {
      type: "value",
      value: `Bearer ${TOKEN}`,
      parameter: { source: "header", name: "Authorization" },
    },
  };
  const hook = {
    id: "bench",
    "execute-command": "/bin/true",
    "pass-arguments-to-command": [{ source: "payload", name: "title" }],
    "trigger-rule": rule,
  };
  writeFileSync(path.join(folder, "hooks.json"), JSON.stringify([hook]));
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  return startServer({
    command: ["/usr/bin/webhook", "-hooks", path.join(folder, "hooks.json"), "-ip", "127.0.0.1", "-port", String(port)],
    url: `http://127.0.0.1:${port}`,
    hookPath: "/hooks/bench",
    headers: BEARER,
    payload,
  });
}
