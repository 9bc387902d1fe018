import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { silentLog } from "../../core/telemetry/log.ts";
import { createChangeRing, createLiveStream } from "./stream.ts";

const nobody = { watchChanges: () => () => undefined, listEvents: async () => [] };
const all = { filter: {}, isAllowed: () => true };

test("a client that is a megabyte behind gets no more until it reads, and then a gap", async () => {
  const stream = createLiveStream({ journal: nobody, log: silentLog });
  const slow = stream.open(all);
  const quick = stream.open(all).setEncoding("utf8");
  let seen = "";
  quick.on("data", (part: string) => void (seen += part));
  const publish = async (key: string): Promise<void> => {
    stream.publish("rejection", key, () => ({ key, text: "x".repeat(400_000) }));
    await expect.poll(() => seen.includes(`"key":"${key}"`)).toBe(true);
  };
  for (const key of ["1", "2", "3", "4", "5"]) await publish(key);
  expect(slow.readableLength).toBeLessThan(1_500_000);

  let late = "";
  slow.setEncoding("utf8").on("data", (part: string) => void (late += part));
  await expect
    .poll(() => late.match(/^event: .*/gm))
    .toEqual(["ready", "rejection", "rejection", "rejection", "gap"].map((name) => `event: ${name}`));
  stream.publish("rejection", "6", () => ({ key: "6" }));
  await expect.poll(() => late).toContain('"key":"6"');
  expect(late).not.toContain('"key":"5"');
  await stream.close();
});

test("a reader in the process gets what happens after the clients are disconnected, to the end", async () => {
  const stream = createLiveStream({ journal: nobody, log: silentLog });
  const client = stream.open(all);
  const reader = stream.open({ filter: { answers: "true" } });
  stream.disconnect();
  stream.publish("answer", "1", () => ({ id: "1" }));
  stream.publish("reload", "", () => ({ ms: 1 }));
  await stream.close();
  expect(await text(client)).not.toContain("event: reload");
  expect((await text(reader)).match(/^event: .*/gm)).toEqual(
    ["ready", "answer", "reload"].map((name) => `event: ${name}`),
  );
  expect(() => stream.open(all)).toThrow("shutting down");
});

const START = 1_800_000_000_000_000;
const open = (max: number) => createChangeRing<{ value: number }>(max, START / 1000);

test("an item that changes again is kept once, under its latest number", () => {
  const ring = open(10);
  for (const [value, key] of ["a", "b", "a"].entries()) ring.add(key, { value });
  const values = (seq: number) => ring.after(seq, 10)?.map((item) => [item.seq - START, item.value]);
  expect(values(START)).toEqual([
    [2, 1],
    [3, 2],
  ]);
  expect(values(START + 2)).toEqual([[3, 2]]);
  expect(values(ring.last())).toEqual([]);
});

test("a client that missed changes which were dropped must read everything again", () => {
  const ring = open(3);
  for (let value = 1; value <= 5; value++) ring.add(`key ${value}`, { value });
  expect([START - 1, START, START + 1, START + 2, START + 5, START + 6].map(ring.has)).toEqual([
    false,
    false,
    false,
    true,
    true,
    false,
  ]);
  expect(ring.after(START + 1, 10)).toBeUndefined();
  expect(ring.after(START + 2, 10)?.map(({ value }) => value)).toEqual([3, 4, 5]);
  expect(ring.has(Number.NaN)).toBe(false);
});

test("from any place, in steps of any size, it gives the latest of all that changed since, in order", () => {
  const ring = open(50);
  const latest = new Map<string, number>();
  for (let value = 0; value < 1000; value++) {
    const key = `key ${(value * 7919) % 50}`;
    latest.delete(key);
    latest.set(key, value);
    ring.add(key, { value });
  }
  for (const limit of [1, 7, 100]) {
    const found: number[] = [];
    for (let seq = START, items; (items = ring.after(seq, limit))?.length; seq = items.at(-1)?.seq ?? 0) {
      found.push(...items.map(({ value }) => value));
    }
    expect(found).toEqual([...latest.values()]);
  }
});
