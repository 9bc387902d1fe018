/** Behavior that only the program as a process shows: a real terminal, its keys, and signals. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { orElse } from "../src/core/shared/system/files.ts";
import { runWebhooks } from "./support/cli.ts";
import { createClient } from "./support/client.ts";
import { isRunning } from "./support/is-running.ts";
import { startProcess } from "./support/process.ts";
import { PROGRAM } from "./support/program.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "./support/service.ts";
import { INTERRUPT, answerInit, spawnTerminal } from "./support/terminal.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-program-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("webhooks serve", () => {
  test("on a terminal the log is human-readable, and Ctrl+C ends it", async () => {
    writeOpenState();
    const terminal = spawnTerminal(folder, ["serve", "--port", "0"]);
    await terminal.answer("Listening on", INTERRUPT);
    expect(await terminal.end()).toBe(0);
    expect(terminal.shown()).toMatch(/^\d\d:\d\d:\d\d WARN {2}other users can access the state folder folder=\S+\r?$/m);
  });
});

test.each([
  ["its parent", "exec"],
  ["a shell below it", ""],
])("started by npx, it stops when %s is ended", async (_what, exec) => {
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens({ gateway: { port: 0 } })));
  // A shell that does something afterwards stays beside its command, as npx does.
  const command = `${exec} "${process.execPath}" "${PROGRAM}" serve > out.log 2>&1${exec === "" ? "; true" : ""}`;
  const npx = spawn("sh", ["-c", `sh -c '${command}'; true`], {
    cwd: folder,
    env: { ...process.env, npm_command: "exec" },
  });
  const output = (): string => orElse("", () => readFileSync(path.join(folder, "out.log"), "utf8"));
  await expect.poll(output).toMatch(/Listening on http\S+/);
  const [, url = ""] = /Listening on (http\S+)/.exec(output()) ?? [];
  npx.kill("SIGTERM");
  const isUp = (): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isUp).toBe(false);
});

test("webhooks dev: Ctrl-C ends it", async () => {
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens({})));
  const terminal = spawnTerminal(folder, ["dev", "--port", "0"]);
  await terminal.answer(" quit", INTERRUPT);
  expect(await terminal.end()).toBe(0);
});

test("webhooks init: keys choose and type, a key's letters are hidden, and Ctrl-C leaves the folder as it was", async () => {
  const canceled = spawnTerminal(folder, ["init"]);
  await canceled.answer("Who sends the first webhooks?", INTERRUPT);
  expect(await canceled.end()).toBe(1);
  expect(readdirSync(folder)).toEqual([]);

  const terminal = spawnTerminal(folder, ["init"], { OPENAI_API_KEY: "" });
  await answerInit(terminal);
  expect({ code: await terminal.end(), shown: terminal.shown() }).toMatchObject({ code: 0 });
  expect(terminal.shown()).not.toContain("sk-secret-key");
  expect(readFileSync(path.join(folder, ".webhooks/openai-api-key"), "utf8")).toBe("sk-secret-key\n");
});

test("Ctrl-C under npm, which sends the signal twice, lets the turn finish", async () => {
  const script = "touch begun; until [ -e go ]; do sleep 0.1; done; touch done";
  const file = writeConfig(script);

  const { url, child, output, end } = await startProcess(file);
  const client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  await client.post("agent", { message: "go", deliver: false, wakeMode: "next-heartbeat" });
  await expect.poll(() => existsSync(path.join(folder, "begun"))).toBe(true);

  // Two different signals, since the system may merge equal ones.
  child.kill("SIGINT");
  const ended = end("SIGTERM");
  await expect.poll(output).toContain("Finishing 1 turn, up to 30 s. Ctrl-C again to stop now");
  writeFileSync(path.join(folder, "go"), "");
  expect(await ended).toBe(0);
  expect(existsSync(path.join(folder, "done"))).toBe(true);
});

test("without a terminal the log is JSON, SIGHUP reloads, `webhooks reload` says what is used, and SIGTERM ends it", async () => {
  const file = path.join(folder, "webhooks.json5");
  const write = (text: string): void => {
    const mappings = [{ id: text, match: { path: "x" }, messageTemplate: text, deliver: false }];
    writeFileSync(file, JSON.stringify(withTokens({ hooks: { mappings }, log: { level: "info" } })));
  };
  write("one");
  const { url, child, errors, end } = await startProcess(file);
  child.kill("SIGHUP");
  await expect.poll(errors).toMatch(/^\{"level":30,.*"generation":2,"changed":"SIGHUP".*"msg":"reloaded"\}$/m);
  write("two");
  const reload = () => runWebhooks(folder, "reload", "--config", file, "--url", url);
  await expect
    .poll(async () => (await reload()).stdout)
    .toMatch(/^Loaded .*webhooks\.json5: generation \d+, 1 mapping\./);
  write("{{broken");
  expect(await reload()).toMatchObject({ code: 1, stderr: expect.stringContaining("does not parse") });
  child.kill("SIGHUP");
  expect(await end("SIGTERM")).toBe(0);
});

test("Ctrl-C again ends the service at once, as its line says, with a program that ignores signals, and no history file is left", async () => {
  const file = writeConfig("trap '' TERM INT; echo $$ > pid; while :; do sleep 1; done");
  const { url, child, output } = await startProcess(file);
  const client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  await client.post("agent", { message: "go", deliver: false, wakeMode: "next-heartbeat" });
  const pidFile = path.join(folder, "pid");
  const readPid = (): string => readFileSync(pidFile, "utf8").trim();
  await expect.poll(() => existsSync(pidFile) && readPid()).toMatch(/^\d+$/);
  const histories = (): string[] => readdirSync(path.join(folder, ".webhooks/temporary"));
  expect(histories()).toHaveLength(1);

  const ended = once(child, "exit");
  child.kill("SIGINT");
  await expect.poll(output).toContain("Ctrl-C again to stop now");
  // The service waits for the turn until a second signal.
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  // A person can read the line as fast.
  await setTimeout(300);
  child.kill("SIGINT");
  expect(await ended).toEqual([1, null]);
  await expect.poll(() => isRunning(readPid())).toBe(false);
  expect(histories()).toEqual([]);
});

/** A configuration whose state folder leads to a warning in the log. */
function writeOpenState(): void {
  writeFileSync(
    path.join(folder, "webhooks.json5"),
    JSON.stringify(withTokens({ store: { path: "state" }, log: { level: "warn" } })),
  );
  mkdirSync(path.join(folder, "state"));
  chmodSync(path.join(folder, "state"), 0o755);
}

function writeConfig(script: string): string {
  const file = path.join(folder, "webhooks.json5");
  const providers = {
    own: { kind: "command" as const, sandbox: false, command: ["sh", "-c", script] as [string, ...string[]] },
  };
  writeFileSync(file, JSON.stringify(withTokens({ agents: { providers, defaults: { model: "own/default" } } })));
  return file;
}
