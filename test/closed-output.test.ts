/** Commands whose output nobody reads any more, as behind `| head -1`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { exampleOf, isReading, leafCommands, nameOf } from "../src/cli/command-list.ts";
import { createProgram } from "../src/cli/all-commands.ts";
import { createTestIo, plainEnv } from "./support/cli.ts";
import { PROGRAM } from "./support/program.ts";
import { HOOK_TOKEN, type Service, startService, withTokens } from "./support/service.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), "hookline-closed-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a service goes on when nobody reads its output and its log cannot be written, and ends as usual", async () => {
  const child = spawn(process.execPath, [PROGRAM, "serve", "--port", "0", "--config", writeConfig()], {
    stdio: ["ignore", "pipe", openSync("/dev/full", "w")],
    env: plainEnv(),
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "exit");
  let [printed, url]: [string, string | undefined] = ["", undefined];
  // The end of the loop closes the output.
  for await (const chunk of child.stdout!) {
    printed += String(chunk);
    if ((url = /Listening on (\S+)\s/.exec(printed)?.[1])) break;
  }
  // Each of them writes lines.
  for (let count = 0; count < 3; count++) expect(await post(url!)).toBe(202);
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

describe("a command that only prints ends with 0", () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({});
    await service.post("wake", { text: "hello" });
  });
  afterAll(() => service.close());

  test("webhooks events export", async () => {
    const config = writeConfig({ gateway: { port: Number(new URL(service.url).port) } });
    expect(await runUnread(["events", "export"], config)).toEqual({ code: 0, stderr: "" });
  });

  test("webhooks tail, at the next request", async () => {
    const ended = runUnread(["tail", "--url", service.url], writeConfig());
    for (let isRunning = true; isRunning;) {
      await service.post("wake", { text: "hello" });
      isRunning = await Promise.race([ended.then(() => false), sleep(100, true)]);
    }
    expect(await ended).toMatchObject({ code: 0 });
  });

  test("also if it fails and standard error is closed", async () => {
    expect(await runUnread(["presets", "show", "nope"], writeConfig(), "stderr")).toMatchObject({ code: 0 });
  });
});

test("a command that judges something exits by its result", async () => {
  const strange = writeConfig({ agents: { defaults: { model: "none/such" } } });
  expect(await runUnread(["check"], strange, "stderr")).toMatchObject({ code: 1 });
});

test("a command that changes something finishes silently", async () => {
  const config = path.join(folder, "new.json5");
  expect(await runUnread(["init", "--yes"], config)).toEqual({ code: 0, stderr: "" });
  expect(existsSync(path.join(folder, ".webhooks/hook-token"))).toBe(true);
});

test("every command either changes or judges something, or is known to only print", () => {
  const { io } = createTestIo("/");
  const changing = leafCommands(createProgram(io)).filter((command) => !isReading(command) && exampleOf(command));
  expect(changing.map(nameOf)).toMatchInlineSnapshot(`
    [
      "demo",
      "init",
      "dev",
      "serve",
      "check",
      "doctor",
      "try",
      "send",
      "diff",
      "test",
      "transform new",
      "types",
      "presets enable",
      "presets disable",
      "presets verify",
      "presets copy",
      "token rotate",
      "token drop",
      "import openclaw",
      "channels test",
      "tools call",
      "tools accept",
      "mail setup",
      "mail run",
      "record",
      "status",
      "reload",
      "events save",
      "events replay",
      "events catch-up",
      "runs release",
      "runs cancel",
      "dead-letters retry",
      "dead-letters drop",
      "bulk",
      "subscriptions end",
      "hooks pause",
      "hooks resume",
      "approvals approve",
      "approvals deny",
      "approvals settle",
      "backup",
      "store migrate",
    ]
  `);
});

const HOOKS = { mappings: [{ match: { path: "a" }, messageTemplate: "x", deliver: false }] };

function writeConfig(more: object = {}): string {
  const file = path.join(folder, "webhooks.json");
  writeFileSync(file, JSON.stringify(withTokens({ hooks: HOOKS, log: { level: "info" }, ...more })));
  return file;
}

async function post(url: string): Promise<number> {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" };
  return (await fetch(`${url}/hooks/a`, { method: "POST", headers, body: "{}" })).status;
}

/** Runs a command one of whose outputs is closed before it writes. */
async function runUnread(args: string[], config: string, closed: "stdout" | "stderr" = "stdout") {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...plainEnv(), WEBHOOKS_CONFIG: config },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  child[closed].destroy();
  const [[code], stderr] = await Promise.all([once(child, "exit"), closed === "stderr" ? "" : text(child.stderr)]);
  return { code, stderr };
}
