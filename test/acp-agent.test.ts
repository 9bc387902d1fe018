/** An agent that speaks the Agent Client Protocol in a running service. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAgent } from "./support/acp-agent.mjs";
import { runWebhooks } from "./support/cli.ts";
import { type InnerPrograms, serveInnerPrograms } from "./support/inner-program.ts";
import { isRunning } from "./support/is-running.ts";
import { type Service, startService } from "./support/service.ts";

let service: Service;
let programs: InnerPrograms;
beforeAll(async () => {
  programs = await serveInnerPrograms(({ onLine, ...program }) => onLine(createAgent({ ...program, env: {} })));
  service = await startService({
    config: {
      agents: {
        providers: { own: { kind: "acp", sandbox: false, command: programs.command() } },
        defaults: { model: "own/default" },
      },
    },
  });
});
afterAll(async () => {
  await service.close();
  programs.close();
});

test("each turn has a program of its own, which ends with it", async () => {
  const pid = await replyTo("pid");
  expect(pid).toMatch(/^\d+$/);
  await expect.poll(() => isRunning(pid)).toBe(false);
  expect(await replyTo("pid")).not.toBe(pid);
});

test("what the agent did is recorded as notes, and shown", async () => {
  const { body } = await service.post("agent", { message: "work", deliver: false, wakeMode: "next-heartbeat" });
  const { runs } = await service.settled(body.eventId);
  expect(runs[0].reply).toBe("The final answer.\n\nAnd a word more.");
  const { steps } = await service.api(`/api/runs/${runs[0].id}`);
  expect(steps).toMatchObject([
    { n: 1, kind: "note", text: "I'll look first." },
    { n: 2, kind: "note", title: "read tests" },
    { n: 3, kind: "note", text: "Now the tests." },
    { n: 4, kind: "note", title: "run tests" },
  ]);
  const { stdout } = await runWebhooks(service.folder, "runs", "show", runs[0].id, "--url", service.url);
  expect(stdout).toMatch(/1 {2}note[^]*I'll look first\.[^]*2 {2}note {2}read tests/);
});

test("a refused permission and no word is a dead letter at once, which says what was refused", async () => {
  const { body } = await service.post("agent", { message: "permission silent", wakeMode: "next-heartbeat" });
  const { runs } = await service.settled(body.eventId);
  expect(runs[0]).toMatchObject({ state: "failed", error: expect.stringContaining("was refused: rm -rf.") });
  expect(runs[0].failedAttempts).toHaveLength(1);
});

async function replyTo(message: string): Promise<string> {
  const { body } = await service.post("agent", { message, deliver: false, wakeMode: "next-heartbeat" });
  const { runs } = await service.settled(body.eventId);
  return runs[0]?.reply ?? "";
}
