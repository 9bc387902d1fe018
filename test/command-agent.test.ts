/** A program as the agent of a running service. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, onTestFinished, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { createClient } from "./support/client.ts";
import { isRunning } from "./support/is-running.ts";
import { startProcess } from "./support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService, withTokens } from "./support/service.ts";

let service: Service;
let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  close = undefined;
});

test("exit code 75 is retried; the program runs in the configuration's folder", async () => {
  await start("if [ -e tried ]; then echo done; else touch tried; exit 75; fi");
  expect(await run({})).toMatchObject({
    status: "done",
    runs: [
      {
        state: "done",
        reply: "done",
        model: "own/default",
        attempts: 2,
        failedAttempts: [{ n: 1, endedAt: expect.any(String), error: expect.stringContaining("75") }],
      },
    ],
  });
  expect(existsSync(path.join(service.folder, "tried"))).toBe(true);
});

test("another exit code is a dead letter at once, with the error output", async () => {
  await start("echo 'no such repository' >&2; exit 1");
  expect(await run({})).toMatchObject({
    status: "failed",
    runs: [{ state: "failed", attempts: 1, error: expect.stringContaining("no such repository") }],
  });
});

test("the program ends at its timeout", async () => {
  await start("echo $$ > pid; sleep 60");
  expect(await run({ timeoutSeconds: 1 })).toMatchObject({
    runs: [{ state: "failed", error: "timed out after 1 s" }],
  });
  // The program may have been killed before it wrote its id.
  const hasStarted = existsSync(path.join(service.folder, "pid"));
  await expect.poll(() => hasStarted && isRunning(readPid())).toBe(false);
});

test("nothing of a killed service's turn is left: neither its processes nor its conversation", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-killed-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // The second turn is short.
  const script =
    "[ -e ids ] && exit; sleep 600 & echo $HOOKLINE_HISTORY > history; echo $$ $! > ids.new; mv ids.new ids; wait";
  const agents: UserConfig["agents"] = {
    providers: { own: { kind: "command", sandbox: false, command: ["sh", "-c", script] } },
    defaults: { model: "own/default" },
  };
  const config = path.join(folder, "webhooks.json");
  writeFileSync(config, JSON.stringify(withTokens({ agents })));
  const killed = await startProcess(config);
  onTestFinished(() => void killed.child.kill("SIGKILL"));
  const client = createClient(killed.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  await client.post("agent", QUIET);
  const ids = path.join(folder, "ids");
  await expect.poll(() => existsSync(ids)).toBe(true);
  const history = readFileSync(path.join(folder, "history"), "utf8").trim();
  expect(history).toContain(path.join(folder, ".webhooks"));
  expect(existsSync(history)).toBe(true);
  // An answer: the service is past its start. The program may run before that.
  expect((await fetch(`${killed.url}/healthz`)).status).toBe(200);

  await killed.end("SIGKILL");
  const started = readFileSync(ids, "utf8").trim().split(" ");
  await expect.poll(() => started.filter(isRunning)).toEqual([]);

  const next = await startProcess(config);
  expect(existsSync(history)).toBe(false);
  expect(await next.end("SIGTERM")).toBe(0);
});

const QUIET = { message: "go", deliver: false, wakeMode: "next-heartbeat" };

async function start(script: string): Promise<void> {
  service = await startService({
    config: {
      agents: {
        providers: { own: { kind: "command", sandbox: false, command: ["sh", "-c", script] } },
        defaults: { model: "own/default" },
      },
    },
  });
  ({ close } = service);
}

async function run(payload: object) {
  const { body } = await service.post("agent", { ...QUIET, ...payload });
  return service.settled(body.eventId);
}

function readPid(): string {
  return readFileSync(path.join(service.folder, "pid"), "utf8").trim();
}
