import { expect, test } from "vitest";
import { within } from "./within.ts";

const limits = {
  timeoutMs: 20,
  toTimeout: () => new Error("time is up"),
  signal: new AbortController().signal,
};

test("gives the result of work that ends in time", async () => {
  await expect(within(async () => "done", limits)).resolves.toBe("done");
});

test("ends work that heeds no signal", async () => {
  await expect(within(() => new Promise(() => undefined), limits)).rejects.toThrow("time is up");
});

test("the end goes before what the work says of it", async () => {
  const work = (signal: AbortSignal) =>
    new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(new Error("aborted by the client"))),
    );
  await expect(within(work, limits)).rejects.toThrow("time is up");
});

test("ends with the reason of the signal, also when it has aborted before", async () => {
  const stop = new AbortController();
  const cutOff = within(() => new Promise(() => undefined), {
    ...limits,
    timeoutMs: 10_000,
    signal: stop.signal,
  });
  stop.abort(new Error("stopped"));
  await expect(cutOff).rejects.toThrow("stopped");
  await expect(within(async () => "done", { ...limits, signal: stop.signal })).rejects.toThrow("stopped");
});

test("work that fails later than its end fails unheard", async () => {
  const late = () => new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 40));
  await expect(within(late, limits)).rejects.toThrow("time is up");
  await new Promise((resolve) => setTimeout(resolve, 40));
});
