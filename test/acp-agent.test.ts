/** An agent that speaks the Agent Client Protocol in a running service. */
import { afterEach, expect, test } from "vitest";
import { isRunning } from "./support/is-running.ts";
import { ACP_AGENT } from "./support/program.ts";
import { type Service, startService } from "./support/service.ts";

let service: Service;
afterEach(() => service.close());

test("the program keeps running between turns and ends with the service", async () => {
  await start();
  const pid = await replyTo("pid");
  expect(pid).toMatch(/^\d+$/);
  expect(await replyTo("pid")).toBe(pid);
  await service.hookline.close();
  await expect.poll(() => isRunning(pid)).toBe(false);
});

test("a reload replaces the program", async () => {
  await start();
  const pid = await replyTo("pid");
  expect(pid).toMatch(/^\d+$/);
  await service.hookline.reload();
  await expect.poll(() => isRunning(pid)).toBe(false);
  expect(await replyTo("pid")).not.toBe(pid);
});

async function start(): Promise<void> {
  service = await startService({
    config: {
      agents: {
        providers: { own: { kind: "acp", command: [process.execPath, ACP_AGENT] } },
        defaults: { model: "own/default" },
      },
    },
  });
}

async function replyTo(message: string): Promise<string> {
  const { body } = await service.post("agent", { message, deliver: false, wakeMode: "next-heartbeat" });
  const { runs } = await service.settled(body.eventId);
  return runs[0]?.reply ?? "";
}
