import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { DriverError } from "../core/errors.ts";
import { joinMissed, runCatchUp } from "./catch-up-run.ts";

test.each([0, 1e12, Infinity])("a sender that says to wait %s ms is not asked again at once", async (retryAfterMs) => {
  const stop = new AbortController();
  let asked = 0;
  const events = {
    paceMs: 0,
    async find() {
      asked += 1;
      throw new DriverError("too many requests", { retryable: true, retryAfterMs });
    },
    repeat: async () => undefined,
  };
  const catchUp = { preset: "github", hook: "github", since: 0, foundAt: Date.now(), done: 0, failed: 0, failures: [] };
  const running = runCatchUp(catchUp, { events, save: async () => undefined, signal: stop.signal });
  await Promise.race([running, delay(300)]);
  stop.abort();
  await expect(running).rejects.toThrow("aborted");
  expect(asked).toBe(1);
});

test("events that failed are not counted as repeated, also those beyond the ones that are shown", async () => {
  const missed = Array.from({ length: 30 }, (_, index) => ({
    id: `e${index}`,
    order: String(index + 10),
    event: "push",
  }));
  const events = {
    paceMs: 0,
    find: async () => ({ missed, notes: [] }),
    async repeat({ id }: { id: string }) {
      if (id !== "e29") throw new DriverError("gone", { retryable: false });
    },
  };
  const catchUp = { preset: "github", hook: "github", since: 0, foundAt: Date.now(), done: 0, failed: 0, failures: [] };
  const signal = new AbortController().signal;
  const result = await runCatchUp(catchUp, { events, save: async () => undefined, signal });
  expect(result).toMatchObject({ repeated: 1, failed: 29, left: 0 });
  expect(result.failures).toHaveLength(20);
});

test("the missed events of several places are got in their order, each from its own place", async () => {
  const repeated: string[] = [];
  const place = (name: string, orders: string[]) => ({
    paceMs: orders.length,
    find: async () => ({
      missed: orders.map((order) => ({ id: "1", order, event: "push" })),
      notes: ["Some are lost.", `Of ${name}.`],
    }),
    repeat: async ({ order }: { order: string }) => void repeated.push(`${name} ${order}`),
  });
  const joined = joinMissed([place("app", ["1", "4"]), place("api", ["2", "3", "5"])]);
  const { missed, notes } = await joined.find(0);
  for (const event of missed) await joined.repeat(event);
  expect(repeated).toEqual(["app 1", "api 2", "api 3", "app 4", "api 5"]);
  expect(notes).toEqual(["Some are lost.", "Of app.", "Of api."]);
  expect(joined.paceMs).toBe(3);
});
