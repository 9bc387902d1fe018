import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { DriverError } from "../errors.ts";
import { runCatchUp } from "./run.ts";

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
  const catchUp = { preset: "github", hook: "github", since: 0, foundAt: Date.now(), done: 0, failures: [] };
  const running = runCatchUp(catchUp, { events, save: async () => undefined, signal: stop.signal });
  await Promise.race([running, delay(300)]);
  stop.abort();
  await expect(running).rejects.toThrow("aborted");
  expect(asked).toBe(1);
});
