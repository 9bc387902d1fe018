import { expect, test } from "vitest";
import { silentLog } from "../telemetry/log.ts";
import { retryWhileUnavailable } from "./context.ts";
import { JournalUnavailable } from "../errors.ts";

const waiting = { log: silentLog, signal: new AbortController().signal };

test("repeats a call until the journal is available", async () => {
  let attempts = 0;
  const write = async () => {
    attempts += 1;
    if (attempts < 3) throw new JournalUnavailable("the disk is full");
    return attempts;
  };
  await expect(retryWhileUnavailable(write, waiting)).resolves.toBe(3);
});

test("does not repeat a call that failed for another reason", async () => {
  let attempts = 0;
  const write = async () => {
    attempts += 1;
    throw new TypeError("oops");
  };
  await expect(retryWhileUnavailable(write, waiting)).rejects.toThrow("oops");
  expect(attempts).toBe(1);
});

test("stops when the service shuts down", async () => {
  const stop = new AbortController();
  const write = async () => {
    stop.abort(new Error("stopped"));
    throw new JournalUnavailable("the disk is full");
  };
  await expect(retryWhileUnavailable(write, { ...waiting, signal: stop.signal })).rejects.toThrow("stopped");
});
