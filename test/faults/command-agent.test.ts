/** An agent's program ends with the service, and its history file is removed, even after an unclean end. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../support/client.ts";
import { isRunning } from "../support/is-running.ts";
import { startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";

const SCRIPT = "trap '' TERM INT; echo $$ > pid; while :; do sleep 1; done";

test("Ctrl-C under npm, which sends the signal twice, lets the turn finish", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-command-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const script = "touch begun; until [ -e go ]; do sleep 0.1; done; touch done";
  const file = writeConfig(folder, script);

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

test("a program that ignores signals ends with the service, and no history file is left", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-command-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const temporary = path.join(folder, "temporary");
  mkdirSync(temporary);
  const file = writeConfig(folder, SCRIPT);

  const { url, child } = await startProcess(file, { TMPDIR: temporary });
  const client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  await client.post("agent", { message: "go", deliver: false, wakeMode: "next-heartbeat" });
  const pidFile = path.join(folder, "pid");
  const readPid = (): string => readFileSync(pidFile, "utf8").trim();
  await expect.poll(() => existsSync(pidFile) && readPid()).toMatch(/^\d+$/);
  const histories = (): string[] => readdirSync(temporary).filter((name) => name.startsWith("hookline-turn-"));
  expect(histories()).toHaveLength(1);

  child.kill("SIGTERM");
  // The service waits for the turn until a second signal, which counts after a second.
  await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(503);
  await expect.poll(() => child.exitCode ?? child.kill("SIGTERM")).toBe(1);
  await expect.poll(() => isRunning(readPid())).toBe(false);
  expect(histories()).toEqual([]);
});

function writeConfig(folder: string, script: string): string {
  const file = path.join(folder, "webhooks.json5");
  const providers = { own: { kind: "command" as const, command: ["sh", "-c", script] as [string, ...string[]] } };
  writeFileSync(file, JSON.stringify(withTokens({ agents: { providers, defaults: { model: "own/default" } } })));
  return file;
}
