/** A program as the agent of a running service. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { isRunning } from "./support/is-running.ts";
import { type Service, startService } from "./support/service.ts";

let service: Service;
afterEach(() => service.close());

test("exit code 75 is retried; the program runs in the configuration's folder", async () => {
  await start("if [ -e tried ]; then echo done; else touch tried; exit 75; fi");
  expect(await run({})).toMatchObject({
    status: "done",
    runs: [{ state: "done", reply: "done", model: "own/default", attempts: 2 }],
  });
  expect(existsSync(path.join(service.folder, "tried"))).toBe(true);
});

test("another exit code is a dead letter at once, with the error output", async () => {
  await start("echo 'no such repository' >&2; exit 1");
  expect(await run({})).toMatchObject({
    status: "dead",
    runs: [{ state: "dead", attempts: 1, error: expect.stringContaining("no such repository") }],
  });
});

test("the program ends at its timeout", async () => {
  await start("echo $$ > pid; sleep 60");
  expect(await run({ timeoutSeconds: 1 })).toMatchObject({
    runs: [{ state: "dead", error: "timed out after 1 s" }],
  });
  // It may have been killed before it wrote its id.
  const hasStarted = existsSync(path.join(service.folder, "pid"));
  await expect.poll(() => hasStarted && isRunning(readPid())).toBe(false);
});

const QUIET = { message: "go", deliver: false, wakeMode: "next-heartbeat" };

async function start(script: string): Promise<void> {
  service = await startService({
    config: {
      agents: {
        providers: { own: { kind: "command", command: ["sh", "-c", script] } },
        defaults: { model: "own/default" },
      },
    },
  });
}

async function run(payload: object) {
  const { body } = await service.post("agent", { ...QUIET, ...payload });
  return service.settled(body.eventId);
}

function readPid(): string {
  return readFileSync(path.join(service.folder, "pid"), "utf8").trim();
}
