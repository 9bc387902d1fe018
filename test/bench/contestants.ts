import { createHmac } from "node:crypto";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { startModels } from "../support/models.ts";
import { findFreePort } from "../system/find-free-port.ts";
import { OPENCLAW_VERSION, startOpenClaw } from "../peers/openclaw-gateway.ts";
import { findInstalled } from "../peers/support.ts";
import { startModel } from "./model.ts";
import { installPackages } from "./npm-transforms.ts";
import { type BenchServer, firstSuccess, startServer, untilIdle } from "./server.ts";

const root = path.join(import.meta.dirname, "../..");
const TOKEN = "bench-token-0123456789abcdef";
const OPERATOR_TOKEN = "bench-operator-0123456789abcdef";
export const BEARER = { authorization: `Bearer ${TOKEN}` };

/** A body of about this many bytes, as a forge sends it. */
export function bodyOf(bytes: number): string {
  const commit = {
    id: "c".repeat(40),
    message: 'fix: something "quoted"\nand more é',
    author: { name: "A. U. Thor", email: "author@example.com", ok: true, nil: null },
    added: ["src/a.ts", "src/b.ts"],
    url: "https://example.com/x/y",
  };
  const count = Math.round((bytes - 1000) / JSON.stringify(commit).length);
  const commits = Array.from({ length: count }, () => commit);
  return JSON.stringify({
    id: 7,
    repository: { full_name: "a/b" },
    title: "t".repeat(900),
    ...(count > 0 && { commits }),
  });
}

export const BODY_1KB = bodyOf(1000);

const TEXT = "{{repository.full_name}}: {{title}}";
export const WAKE = { action: "wake", wakeMode: "next-heartbeat", textTemplate: TEXT };
export const SIGNED = { ...WAKE, auth: { scheme: "github", secret: TOKEN } };
const AGENT = { messageTemplate: TEXT, deliver: false, wakeMode: "next-heartbeat" };
export const ONE_SESSION = { ...AGENT, sessionKey: "hook:one" };
export const TRANSFORM = { action: "wake", wakeMode: "next-heartbeat", transform: { module: "bench.ts" } };
const CODE = "export default ({ payload }) => ({ text: `${payload.repository.full_name}: ${payload.title}` });\n";

/** The minimal webhook service. */
export function startFloor(): Promise<BenchServer> {
  return startProgram("floor.ts", {});
}

/** Commits each request to a file, alone. */
export function startStoringFloor(folder: string): Promise<BenchServer> {
  return startProgram("floor.ts", { STORE: path.join(folder, "floor.db") });
}

/** A file of this folder that prints its address. */
function startProgram(program: string, env: Record<string, string>): Promise<BenchServer> {
  return startServer({
    command: [process.execPath, path.join(import.meta.dirname, program)],
    env: { TOKEN, ...env },
    hookPath: "/hooks/bench",
    headers: BEARER,
    payload: BODY_1KB,
  });
}

/** The built program with one mapping, at `/hooks/bench`. */
export function startHookline(folder: string, mapping: object): Promise<BenchServer> {
  writeFileSync(path.join(folder, "bench.ts"), CODE);
  return serve(folder, [{ match: { path: "bench" }, ...mapping }], "auth" in mapping ? sign(BODY_1KB) : BEARER);
}

/** The AI SDK alone, which records nothing. */
export function startBareTurn(): Promise<BenchServer> {
  return besideModel((model) => startProgram("bare-loop.ts", { MODEL: model }));
}

/** The same with a loop of three calls. */
export function startBareLoop(): Promise<BenchServer> {
  return besideModel((model) => startProgram("bare-loop.ts", { MODEL: model, CALLS: "3" }));
}

/** The built program, whose agent is a model behind HTTP. At `/hooks/calls` it makes three calls. */
export function startAgent(folder: string): Promise<BenchServer> {
  return besideModel((baseUrl) => {
    const providers = { own: { kind: "openai-compatible", baseUrl } };
    const show = { description: "One ticket.", get: "/tickets/{id}", input: { id: "integer" } };
    const tools = { tickets: { kind: "http", baseUrl, private: true, calls: { show } } };
    const agents = { providers, tools, defaults: { model: "own/double", maxConcurrent: 16 } };
    const mappings = [
      { match: { path: "bench" }, ...AGENT },
      { match: { path: "calls" }, ...AGENT, grants: { "tickets.show": "read" } },
    ];
    return serve(folder, mappings, BEARER, { agents });
  });
}

async function besideModel(start: (baseUrl: string) => Promise<BenchServer>): Promise<BenchServer> {
  const model = await startModel();
  const server = await start(model.baseUrl);
  return {
    ...server,
    async stop(signal) {
      await server.stop(signal);
      model.close();
    },
  };
}

/** The built program with transforms that import packages, each at its name. */
export function startPackages(folder: string): Promise<BenchServer> {
  installPackages(folder);
  const mappings = Object.entries(WITH_PACKAGES).map(([name, code]) => {
    writeFileSync(path.join(folder, `${name}.ts`), code);
    return { match: { path: name }, ...TRANSFORM, transform: { module: `${name}.ts` } };
  });
  return serve(folder, mappings, BEARER, { hook: "mini" });
}

const PARSED = "export default ({ payload }) => ({ text: Payload.parse(payload).title });";
const WITH_PACKAGES = {
  mini: `import * as z from "zod/mini";\nconst Payload = z.object({ title: z.string() });\n${PARSED}\n`,
  star: `import * as z from "zod";\nconst Payload = z.object({ title: z.string() });\n${PARSED}\n`,
  dates: 'import { formatISO } from "date-fns";\nexport default () => ({ text: formatISO(0) });\n',
};

/** The built program with as many transforms, the first at `/hooks/bench`. */
export function startModules(folder: string, count: number): Promise<BenchServer> {
  const names = Array.from({ length: count }, (_, index) => (index === 0 ? "bench" : `bench-${index}`));
  const mappings = names.map((name) => {
    writeFileSync(path.join(folder, `${name}.ts`), CODE.replace("full_name}", `full_name} ${name}`));
    return { match: { path: name }, ...TRANSFORM, transform: { module: `${name}.ts` } };
  });
  return serve(folder, mappings, BEARER);
}

/** The built program with these mappings, its files beside the configuration. `hook`: the one that is called first. */
export function serve(
  folder: string,
  mappings: object[],
  headers: Record<string, string>,
  { hook = "bench", agents }: { hook?: string; agents?: object } = {},
): Promise<BenchServer> {
  const file = path.join(folder, "webhooks.json5");
  const hooks = { enabled: true, token: TOKEN, transformsDir: ".", mappings };
  const gateway = { auth: { token: OPERATOR_TOKEN } };
  writeFileSync(file, JSON.stringify({ gateway, hooks, agents, log: { level: "silent" } }));
  const program = path.join(root, "dist/cli/webhooks.js");
  return startServer({
    command: [process.execPath, program, "serve", "--port", "0", "--config", file],
    hookPath: `/hooks/${hook}`,
    headers,
    payload: BODY_1KB,
  });
}

/** The number of runs that are not finished. */
export async function pendingRuns({ url }: BenchServer): Promise<number> {
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
  const response = await fetch(new URL("/api/status", url), { headers });
  return JSON.parse(await response.text()).queue.pendingRuns;
}

/** The size of the journal in a folder in which `startHookline` has run, once it is stopped. */
export function journalBytes(folder: string): number {
  const state = path.join(folder, ".webhooks");
  return readdirSync(state)
    .filter((name) => /\.db(-wal)?$/.test(name))
    .reduce((sum, name) => sum + statSync(path.join(state, name)).size, 0);
}

export function sign(body: string | Buffer): Record<string, string> {
  return { "x-hub-signature-256": `sha256=${createHmac("sha256", TOKEN).update(body).digest("hex")}` };
}

/** Other programs for the same job, where they are installed. Neither is durable. */
export function findPeers(): { who: string; start(folder: string): Promise<BenchServer> }[] {
  const openClaw = findInstalled("openclaw", OPENCLAW_VERSION);
  return [
    ...(existsSync("/usr/bin/webhook") ? [{ who: "webhook", start: startWebhook }] : []),
    ...(openClaw === undefined ? [] : [{ who: "OpenClaw", start: () => startOpenClawHooks(openClaw) }]),
  ];
}

/** Debian's package `webhook`, which starts a program for each request. */
async function startWebhook(folder: string): Promise<BenchServer> {
  const parameter = { source: "header", name: "Authorization" };
  const hook = {
    id: "bench",
    "execute-command": "/bin/true",
    "pass-arguments-to-command": [{ source: "payload", name: "title" }],
    "trigger-rule": { match: { type: "value", value: BEARER.authorization, parameter } },
  };
  writeFileSync(path.join(folder, "hooks.json"), JSON.stringify([hook]));
  const port = await findFreePort();
  return startServer({
    command: ["/usr/bin/webhook", "-hooks", path.join(folder, "hooks.json"), "-ip", "127.0.0.1", "-port", String(port)],
    url: `http://127.0.0.1:${port}`,
    hookPath: "/hooks/bench",
    headers: BEARER,
    payload: BODY_1KB,
  });
}

/** With the same mapping as this service's. */
async function startOpenClawHooks(home: string): Promise<BenchServer> {
  const models = await startModels();
  const mapping = { match: { path: "bench" }, ...WAKE };
  const openClaw = await startOpenClaw(home, models, {
    enabled: true,
    token: TOKEN,
    path: "/hooks",
    mappings: [mapping],
  });
  const url = `${openClaw.url}/hooks/bench`;
  await firstSuccess(url, BEARER, BODY_1KB);
  const startSeconds = (performance.now() - openClaw.spawnedAt) / 1000;
  // OpenClaw goes on starting for a while.
  await untilIdle(openClaw.usage);
  return {
    startSeconds,
    usage: openClaw.usage,
    url,
    headers: BEARER,
    async stop() {
      await openClaw.close();
      await models.close();
    },
  };
}
