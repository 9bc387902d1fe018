/** The same thing sent twice is done once: at the same moment, after a restart, until the time is over. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/config/schema/generated.ts";
import type { Answer } from "./support/client.ts";
import { type Service, startService } from "./support/service.ts";

const quiet = { deliver: false, wakeMode: "next-heartbeat" } as const;

const config = {
  hooks: {
    mappings: [
      { match: { path: "order" }, messageTemplate: "{{text}}", dedupe: "{{id}}", ...quiet },
      { match: { path: "note" }, action: "wake", textTemplate: "{{text}}", dedupe: "{{id}}", ...quiet },
      {
        match: { path: "batch" },
        forEach: "items",
        messageTemplate: "{{item.text}}",
        dedupe: "{{item.id}}",
        ...quiet,
      },
      {
        match: { path: "slow" },
        transform: { module: "slow.ts", timeoutMs: 30_000 },
        dedupe: "{{id}}",
        ...quiet,
      },
    ],
  },
} satisfies UserConfig;

/** Counts for some milliseconds: a transform has no clock that moves. */
const SLOW = `export default ({ payload }) => {
  let count = 0;
  while (count < 200_000) count += 1;
  return { message: payload.text };
};\n`;

/** One delivery of a sender, in each of the ways in which a key is given. `work`: what of the journal it grows by one. */
const CASES = {
  "wake, key in the header": {
    send: () => service.post("wake", { text: "t", mode: "next-heartbeat" }, { "idempotency-key": "k" }),
    work: "pendingSystemEvents",
  },
  "wake, key in the body": {
    send: () => service.post("wake", { text: "t", mode: "next-heartbeat", idempotencyKey: "k" }),
    work: "pendingSystemEvents",
  },
  "agent, key in the header": {
    send: () => service.post("agent", { message: "t", ...quiet }, { "idempotency-key": "k" }),
    work: "runs",
  },
  "agent, key in the body": {
    send: () => service.post("agent", { message: "t", ...quiet, idempotencyKey: "k" }),
    work: "runs",
  },
  "a mapping to an agent": { send: () => service.post("order", { id: 7, text: "t" }), work: "runs" },
  "a mapping to a wake": {
    send: () => service.post("note", { id: 7, text: "t" }),
    work: "pendingSystemEvents",
  },
  "a transform, key in the header": {
    send: () => service.post("slow", { text: "t" }, { "idempotency-key": "k" }),
    work: "runs",
  },
} as const;

let service: Service;
beforeEach(async () => {
  service = await startService({ config, files: { "transforms/slow.ts": SLOW } });
});
afterEach(() => service.close());

describe.each(Object.keys(CASES) as (keyof typeof CASES)[])("%s", (name) => {
  const { send, work } = CASES[name];

  test("of 50 at once one is an event, and all get its answer", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, send));
    const first = expectOneEvent(answers);
    expect(await countOf(work, first.body.eventId)).toBe(1);
    expect((await service.api("/api/events")).events).toHaveLength(1);
  });

  test("one after a restart gets the first one's answer", async () => {
    const first = await send();
    service = await service.restart();
    const second = await send();
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(second.body).toEqual(first.body);
    expect((await service.api("/api/events")).events).toHaveLength(1);
  });
});

test("one that comes while the first is still in its transform, or in its commit, is a duplicate", async () => {
  const send = () => service.post("slow", { id: 9, text: "t" });
  const early = send();
  await sleep(5);
  const during = send();
  const first = await early;
  const after = await send();
  const { body } = expectOneEvent([first, await during, after]);
  expect(await countOf("runs", body.eventId)).toBe(1);
});

describe("the items of a batch", () => {
  const item = (id: number) => ({ id, text: `item ${id}` });

  test("each is done once, in whatever batches it comes, all at once", async () => {
    const batches = [
      [1, 2],
      [2, 3],
      [3, 1],
      [1, 2, 3],
    ];
    await Promise.all(batches.map((ids) => service.post("batch", { items: ids.map(item) })));
    const { runs } = await service.api("/api/runs");
    const messages = runs.map((run: { action: { message: string } }) => run.action.message);
    expect(messages.toSorted()).toEqual(["item 1", "item 2", "item 3"]);
  });

  test("after a restart only what is new is done, and the answer names all", async () => {
    const first = await service.post("batch", { items: [item(1), item(2)] });
    service = await service.restart();
    const second = await service.post("batch", { items: [item(2), item(3)] });
    expect(second.body.runIds[0]).toBe(first.body.runIds[1]);
    expect(second.headers.has("idempotency-replayed")).toBe(false);
    expect((await service.api("/api/runs")).runs).toHaveLength(3);

    const again = await service.post("batch", { items: [item(1), item(2)] });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
  });
});

test("other content under one key at the same moment: one is taken, the others hear of the conflict", async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      service.post("agent", { message: `m${index}`, ...quiet, idempotencyKey: "k" }),
    ),
  );
  const codes = Object.groupBy(answers, ({ status }) => String(status));
  expect(codes["202"]).toHaveLength(1);
  expect(codes["422"]).toHaveLength(19);
  expect((await service.api("/api/runs")).runs).toHaveLength(1);
});

test("a key is forgotten when its time is over", async () => {
  await service.close();
  service = await startService({
    config: { hooks: { ...config.hooks, dedupeWindow: "300ms" } },
    files: { "transforms/slow.ts": SLOW },
  });
  const { send } = CASES["agent, key in the header"];
  const first = await send();
  await sleep(320);
  const later = await send();
  expect(later.headers.has("idempotency-replayed")).toBe(false);
  expect(later.body.eventId).not.toBe(first.body.eventId);
});

/** All have the same body, and all but one say that they repeat it; gives that one. */
function expectOneEvent(answers: Answer[]): Answer {
  const firsts = answers.filter(({ headers }) => !headers.has("idempotency-replayed"));
  expect(firsts).toHaveLength(1);
  const [first] = firsts;
  for (const { status, body } of answers)
    expect({ status, body }).toEqual({ status: first!.status, body: first!.body });
  return first!;
}

async function countOf(work: "runs" | "pendingSystemEvents", eventId: string): Promise<number> {
  const { runs, entries } = await service.api(`/api/events/${eventId}`);
  return work === "runs" ? runs.length : entries.length;
}
