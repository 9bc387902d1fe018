import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { type Client, createClient } from "../support/client.ts";
import { PROGRAM } from "../support/program.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";

const canLimit = spawnSync("unshare", ["-Ur", "true"]).status === 0;

let folder: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-limits-"));
  mkdirSync(path.join(folder, "transforms"));
  writeConfig();
  writeFileSync(path.join(folder, "transforms/x.ts"), says("one"));
});

afterEach(async () => {
  if (child?.kill("SIGTERM")) await once(child, "exit");
  rmSync(folder, { recursive: true, force: true });
});

// A user namespace has its own limits, so the machine's limits stay unchanged.
describe.skipIf(!canLimit)("with no inotify", () => {
  test("instances left, the service polls files, and the log says so", async () => {
    const { client, errors } = await serve(withoutInotify("instances"));
    expect(await messageOf(client)).toBe("one");
    await expect.poll(errors).toMatch(/"level":40.*so they are polled/);
    writeFileSync(path.join(folder, "transforms/x.ts"), says("two"));
    await expect.poll(() => messageOf(client)).toBe("two");
    expect(errors().match(/so they are polled/g)).toHaveLength(1);
    expect(errors()).not.toContain("watching files failed");
  });

  test("watches left, a watcher polls files, and says so once", async () => {
    const { output, errors } = start([...withoutInotify("watches"), "--input-type=module", "--eval", watchScript()]);
    await expect.poll(errors).toMatch(/so they are polled/);
    writeFileSync(path.join(folder, "transforms/x.ts"), says("two"));
    await expect.poll(output).toContain("x.ts");
    expect(errors().match(/so they are polled/g)).toHaveLength(1);
    expect(errors()).not.toContain("watching files failed");
  });
});

const canLimitFiles = spawnSync("prlimit", ["--pid", String(process.pid)]).status === 0;

/** The standard streams have the first three, so nothing else can be opened. */
const NO_HANDLE = 3;
/** A file can be read; a process needs more for its pipes. */
const FEW_HANDLES = 4;

test.skipIf(!canLimitFiles)("a reload that found too few file handles is made once there are some", async () => {
  const plugin = (mark: string): string =>
    `const mark: string = "${mark}";\nexport default { name: "plugin", tools: {}, version: mark };\n`;
  writeFileSync(path.join(folder, "plugin.mts"), plugin(randomUUID()).replace(", version: mark", ""));
  writeConfig({ plugins: ["./plugin.mts"] });
  const { client, errors } = await serve([process.execPath]);
  onTestFailed(() => console.error(errors()));
  expect(await messageOf(client)).toBe("one");
  const pid = String(child?.pid);
  /** Gives what the log says. */
  const saveWith = async (limit: number, file: string, text: string): Promise<string> => {
    const before = errors().length;
    const news = (): string => errors().slice(before);
    limitFiles(pid, limit);
    writeFileSync(path.join(folder, file), text);
    await expect.poll(news).toMatch(/reload refused/);
    const found = news();
    limitFiles(pid, 4096);
    return found;
  };

  expect(await saveWith(NO_HANDLE, "transforms/x.ts", says("two"))).toMatch(/EMFILE.* open |open .* EMFILE/);
  await expect.poll(() => messageOf(client)).toBe("two");

  const refused = await saveWith(await leaving(pid, FEW_HANDLES), "transforms/x.ts", says("three"));
  expect(refused).toMatch(/EMFILE.* spawn |spawn .* EMFILE/);
  await expect.poll(() => messageOf(client)).toBe("three");

  // The compiler keeps what it has compiled before.
  const limit = await leaving(pid, FEW_HANDLES);
  expect(await saveWith(limit, "plugin.mts", plugin(randomUUID()))).toContain("EMFILE");
  // The plugin is read again, and refused for its own sake.
  await expect.poll(errors).toContain('has the unknown part \\"version\\"');
  expect(await messageOf(client)).toBe("three");
});

/** The limit under which a process has this many handles more than it has at rest. */
async function leaving(pid: string, free: number): Promise<number> {
  await compilersEnded(pid);
  // Some are open for a moment.
  let [before, limit] = [0, 0];
  const isAtRest = (): boolean => {
    [before, limit] = [limit, findLimit(pid, free)];
    return limit === before;
  };
  await expect.poll(isAtRest, { interval: 300 }).toBe(true);
  return limit;
}

function writeConfig(more: UserConfig = {}): void {
  const hooks = { mappings: [{ match: { path: "x" }, transform: { module: "x.ts" } }] };
  const config = withTokens({ ...more, hooks, log: { level: "warn" } });
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(config));
}

/** The processes of the compiler end when it has had no work for some seconds, and none stays as a zombie. */
async function compilersEnded(pid: string): Promise<void> {
  await expect.poll(() => spawnSync("pgrep", ["-P", pid, "esbuild"]).status, { interval: 500 }).toBe(1);
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

/** Starts Node with the system's `limit` exhausted. */
function withoutInotify(limit: string): string[] {
  const script = `echo 0 > /proc/sys/user/max_inotify_${limit} && exec "$@"`;
  return ["unshare", "-Ur", "sh", "-c", script, "sh", process.execPath];
}

/** Prints the files of the transforms that have changed. */
function watchScript(): string {
  const source = (name: string): string => JSON.stringify(path.resolve(import.meta.dirname, "../../src", name));
  return `
    import { createWatcher } from ${source("service/runtime/watch.ts")};
    import { silentLog } from ${source("core/telemetry/log.ts")};
    const log = { ...silentLog, warn: console.error, error: console.error };
    const since = Date.now();
    const watcher = createWatcher({ since: () => since, changed: (files) => console.log(files), log });
    watcher.follow([${JSON.stringify(path.join(folder, "transforms"))}]);
  `;
}

async function serve(node: string[]): Promise<{ client: Client; errors: () => string }> {
  const { output, errors } = start([
    ...node,
    PROGRAM,
    "serve",
    "--config",
    path.join(folder, "webhooks.json5"),
    "--port",
    "0",
  ]);
  await expect.poll(() => output() + errors()).toMatch(/Listening on http\S+/);
  const url = /Listening on (http\S+)/.exec(output())?.[1] ?? "";
  const client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  return { client, errors };
}

/** Starts the test's process. */
function start([command = "", ...words]: string[]): { output: () => string; errors: () => string } {
  // Below npx, the program watches for its end.
  const started = spawn(command, words, { env: { ...process.env, npm_command: "exec" } });
  child = started;
  let [output, errors] = ["", ""];
  started.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  started.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  return { output: () => output, errors: () => errors };
}

function says(text: string): string {
  return `export default () => ({ message: ${JSON.stringify(text)} });\n`;
}

async function messageOf(client: Client): Promise<string> {
  const { actions } = await client.try("x", {});
  return actions[0].message;
}
