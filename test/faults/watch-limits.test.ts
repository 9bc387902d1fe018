import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, onTestFailed, test } from "vitest";
import { type Client, createClient } from "../support/client.ts";
import { PROGRAM } from "../support/program.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";

const canLimit = spawnSync("unshare", ["-Ur", "true"]).status === 0;

let folder: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-limits-"));
  mkdirSync(path.join(folder, "transforms"));
  const hooks = { mappings: [{ match: { path: "x" }, transform: { module: "x.ts" } }] };
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens({ hooks, log: { level: "warn" } })));
  writeFileSync(path.join(folder, "transforms/x.ts"), says("one"));
});

afterEach(async () => {
  if (child?.kill("SIGTERM")) await once(child, "exit");
  rmSync(folder, { recursive: true, force: true });
});

// A user namespace has its own limits, so the machine's limits stay unchanged.
test.skipIf(!canLimit).each(["watches", "instances"])(
  "with no inotify %s left, files are polled, and the log says so",
  async (limit) => {
    const { client, errors } = await serveWithout(limit);
    expect(await messageOf(client)).toBe("one");
    await expect.poll(errors).toMatch(/"level":40.*so they are polled/);
    writeFileSync(path.join(folder, "transforms/x.ts"), says("two"));
    await expect.poll(() => messageOf(client)).toBe("two");
    expect(errors().match(/so they are polled/g)).toHaveLength(1);
    expect(errors()).not.toContain("watching files failed");
  },
);

const canLimitFiles = spawnSync("prlimit", ["--pid", String(process.pid)]).status === 0;

test.skipIf(!canLimitFiles).each([
  ["no file handle", 0, "open "],
  ["too few file handles for the process of the compiler", 4, "spawn "],
])("a reload that found %s is made once there are some", async (_, free, step) => {
  const { client, errors } = await serve([process.execPath]);
  onTestFailed(() => console.error(errors()));
  expect(await messageOf(client)).toBe("one");
  const pid = String(child?.pid);
  await compilersEnded(pid);
  limitFiles(pid, findLimit(pid, free));
  writeFileSync(path.join(folder, "transforms/x.ts"), says("two"));
  await expect.poll(errors).toMatch(/reload refused/);
  expect(errors()).toMatch(new RegExp(`EMFILE.* ${step}|${step}.* EMFILE`));
  limitFiles(pid, 4096);
  await expect.poll(() => messageOf(client)).toBe("two");
});

test.skipIf(!canLimitFiles)("a changed plugin that found no file handles is used once there are some", async () => {
  const plugin = (mark: string): string =>
    `const mark: string = "${mark}";\nexport default { name: "plugin", tools: {}, version: mark };\n`;
  const file = path.join(folder, "plugin.mts");
  writeFileSync(file, plugin(randomUUID()).replace(", version: mark", ""));
  const hooks = { mappings: [{ match: { path: "x" }, transform: { module: "x.ts" } }] };
  const config = withTokens({ plugins: ["./plugin.mts"], hooks, log: { level: "warn" } });
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(config));
  const { client, errors } = await serve([process.execPath]);
  onTestFailed(() => console.error(errors()));
  const pid = String(child?.pid);
  await compilersEnded(pid);
  limitFiles(pid, findLimit(pid, 4));
  // The compiler keeps what it has compiled before.
  writeFileSync(file, plugin(randomUUID()));
  await expect.poll(errors).toMatch(/reload refused.*EMFILE|EMFILE.*reload refused/);
  limitFiles(pid, 4096);
  // The plugin is read again, and refused for its own sake.
  await expect.poll(errors).toContain('has the unknown part \\"version\\"');
  expect(await messageOf(client)).toBe("one");
});

/** The processes of the compiler end when it has had no work for some seconds, and none stays as a zombie. */
async function compilersEnded(pid: string): Promise<void> {
  await expect.poll(() => spawnSync("pgrep", ["-P", pid, "esbuild"]).status).toBe(1);
}

function limitFiles(pid: string, limit: number): void {
  expect(spawnSync("prlimit", ["--pid", pid, `--nofile=${limit}:`]).status).toBe(0);
}

/** The limit under which a process can have this many handles more. */
function findLimit(pid: string, free: number): number {
  const used = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let limit = 0;
  for (let left = free; left > 0 || used.has(limit); limit++) if (!used.has(limit)) left--;
  return limit;
}

/** Serves with the system's `limit` exhausted. */
function serveWithout(limit: string): Promise<{ client: Client; errors: () => string }> {
  const script = `echo 0 > /proc/sys/user/max_inotify_${limit} && exec "$@"`;
  return serve(["unshare", "-Ur", "sh", "-c", script, "sh", process.execPath]);
}

async function serve([command = "", ...words]: string[]): Promise<{ client: Client; errors: () => string }> {
  const service = [PROGRAM, "serve", "--config", path.join(folder, "webhooks.json5"), "--port", "0"];
  const started = spawn(command, [...words, ...service]);
  child = started;
  let [output, errors] = ["", ""];
  started.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  started.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  await expect.poll(() => output + errors).toMatch(/Listening on http\S+/);
  const url = /Listening on (http\S+)/.exec(output)?.[1] ?? "";
  const client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  return { client, errors: () => errors };
}

function says(text: string): string {
  return `export default () => ({ message: ${JSON.stringify(text)} });\n`;
}

async function messageOf(client: Client): Promise<string> {
  const { actions } = await client.try("x", {});
  return actions[0].message;
}
