import { setImmediate as nextStep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { createTurns, type Turns } from "./turns.ts";

/** The hooks of the requests in the order in which they began. */
function createRequests(turns: Turns): { begun: string[]; send(hook: string, count: number): void } {
  const begun: string[] = [];
  return {
    begun,
    send(hook, count) {
      for (let sent = 0; sent < count; sent++) {
        const turn = turns.wait(() => hook);
        if (turn) void turn.then(() => begun.push(hook));
        else begun.push(hook);
      }
    },
  };
}

test("requests begin at once unless many come in one step of the event loop", async () => {
  const { begun, send } = createRequests(createTurns());
  for (let step = 1; step <= 3; step++) {
    send("a", 64);
    expect(begun.length).toBe(64 * step);
    await nextStep();
  }
});

test("a request does not wait for the burst to another hook", async () => {
  const { begun, send } = createRequests(createTurns());
  send("attacked", 1000);
  send("honest", 1);
  expect(begun.length).toBe(64);
  await nextStep();
  expect(begun.indexOf("honest")).toBeLessThan(128);
  send("other", 1);
  await nextStep();
  expect(begun.indexOf("other")).toBeLessThan(192);
  await expect.poll(() => begun.length).toBe(1002);
});

test("while a burst of connections comes, they are accepted first", async () => {
  // However long the steps take on this machine.
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const turns = createTurns();
  const { begun, send } = createRequests(turns);
  for (let step = 0; step < 200; step++) {
    turns.accept();
    send("attacked", 1);
    await nextStep();
  }
  expect(begun.length).toBeLessThan(20);
  send("honest", 1);
  await expect.poll(() => begun.length).toBe(201);
  expect(begun.indexOf("honest")).toBeLessThan(begun.length - 1);
});
