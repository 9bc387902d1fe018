/** A repeated delivery is executed once: at the same moment, after a restart, until the window ends. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
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
      { match: { path: "picky" }, forEach: "items", transform: { module: "picky.ts" }, ...quiet },
      {
        match: { path: "slow" },
        transform: { module: "slow.ts", timeoutMs: 30_000 },
        dedupe: "{{id}}",
        ...quiet,
      },
    ],
  },
} satisfies UserConfig;

/** Loops for some milliseconds, because a transform's clock does not move. */
const SLOW = `export default ({ payload }) => {
  let count = 0;
  while (count < 200_000) count += 1;
  return { message: payload.text };
};\n`;

const PICKY = "export default ({ item }) => (item.text ? { message: item.text } : null);\n";

/** Sends one delivery with a key, once for each form of the key. `work`: what it adds to the journal. */
const CASES = {
  "wake, key in the header": {
    send: (key: string) => service.post("wake", { text: "t", mode: "next-heartbeat" }, { "idempotency-key": key }),
    work: "entries",
  },
  "wake, key in the body": {
    send: (key: string) => service.post("wake", { text: "t", mode: "next-heartbeat", idempotencyKey: key }),
    work: "entries",
  },
  "agent, key in the header": {
    send: (key: string) => service.post("agent", { message: "t", ...quiet }, { "idempotency-key": key }),
    work: "runs",
  },
  "agent, key in the body": {
    send: (key: string) => service.post("agent", { message: "t", ...quiet, idempotencyKey: key }),
    work: "runs",
  },
  "a mapping to an agent": {
    send: (key: string) => service.post("order", { id: key, text: "t" }),
    work: "runs",
  },
  "a mapping to a wake": {
    send: (key: string) => service.post("note", { id: key, text: "t" }),
    work: "entries",
  },
  "a transform, key in the header": {
    send: (key: string) => service.post("slow", { text: "t" }, { "idempotency-key": key }),
    work: "runs",
  },
} as const;

let service: Service;
beforeAll(async () => {
  service = await startService({ config, files: { "transforms/slow.ts": SLOW, "transforms/picky.ts": PICKY } });
});
afterAll(() => service.close());

test("of a list the log names the repeats, and a trial the keys", async () => {
  const { body: first } = await service.post("batch", { items: [{ id: "l1", text: "one" }] });
  const items = [{ id: "l1", text: "one" }, { id: "l2", text: "two" }, { text: "without a key" }];
  const { body } = await service.post("batch", { items });
  expect(body.actions[0].runId).toBe(first.actions?.[0]?.runId ?? first.runId);
  expect(body.actions.map(({ repeated }: { repeated?: boolean }) => repeated)).toEqual([true, undefined, undefined]);
  const text = "do not run again, because their keys are known: actions 0";
  expect(await service.api(`/api/events/${body.eventId}`)).toMatchObject({ log: [{ level: "info", text }] });

  const trial = await service.try("batch", { items });
  expect(trial).toMatchObject({ ok: true, keys: ["l1", "l2", ""] });
});

test("of a list the log names the items that are skipped beside others", async () => {
  const { body } = await service.post("picky", { items: [{ text: "" }, { text: "kept" }] });
  const { log } = await service.api(`/api/events/${body.eventId}`);
  expect(log).toEqual([{ level: "info", text: expect.stringMatching(/^item 0 is skipped: /) }]);
});

test.each(Object.entries(CASES))(
  "%s: of 20 at once one is an event, and all get its answer",
  async (name, { send, work }) => {
    const earlier = await countEvents();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(toKey(name, "at-once"))));
    const { body } = expectOneEvent(answers);
    expect((await service.api(`/api/events/${body.eventId}`))[work]).toHaveLength(1);
    expect(await countEvents()).toBe(earlier + 1);
  },
);

test("a repeat after a restart gets the first answer, for each form of the key", async () => {
  const sendAll = () => Promise.all(Object.entries(CASES).map(([name, { send }]) => send(toKey(name, "restart"))));
  const first = await sendAll();
  const events = await countEvents();
  service = await service.restart();
  const second = await sendAll();
  expect(second.map(({ headers }) => headers.get("idempotency-replayed"))).toEqual(first.map(() => "true"));
  expect(second.map(({ body }) => body)).toEqual(first.map(({ body }) => body));
  expect(await countEvents()).toBe(events);
});

test("a repeat during the first request's transform or commit is a duplicate", async () => {
  const send = () => service.post("slow", { id: 9, text: "t" });
  const early = send();
  await sleep(5);
  const during = send();
  const first = await early;
  const after = await send();
  const { body } = expectOneEvent([first, await during, after]);
  expect((await service.api(`/api/events/${body.eventId}`)).runs).toHaveLength(1);
});

describe("the items of a batch", () => {
  const item = (id: number) => ({ id, text: `item ${id}` });

  test("each item is executed once across concurrent batches", async () => {
    const batches = [
      [1, 2],
      [2, 3],
      [3, 1],
      [1, 2, 3],
    ];
    await Promise.all(batches.map((ids) => service.post("batch", { items: ids.map(item) })));
    expect((await batchMessages()).toSorted()).toEqual(["item 1", "item 2", "item 3"]);
  });

  test("after a restart only new items are executed, and the answer names all", async () => {
    const earlier = await batchMessages();
    const first = await service.post("batch", { items: [item(11), item(12)] });
    service = await service.restart();
    const second = await service.post("batch", { items: [item(12), item(13)] });
    expect(second.body.runIds[0]).toBe(first.body.runIds[1]);
    expect(second.headers.has("idempotency-replayed")).toBe(false);
    expect(await batchMessages()).toHaveLength(earlier.length + 3);

    const again = await service.post("batch", { items: [item(11), item(12)] });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
  });
});

test("concurrent requests with one key and different content: one is accepted, the others are conflicts", async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      service.post("agent", { message: `m${index}`, ...quiet, idempotencyKey: "conflict" }),
    ),
  );
  const codes = Object.groupBy(answers, ({ status }) => String(status));
  expect(codes["202"]).toHaveLength(1);
  expect(codes["422"]).toHaveLength(19);
  const { runs } = await service.api("/api/runs?limit=1000");
  expect(runs.filter((run: { action: { message: string } }) => /^m\d+$/.test(run.action.message))).toHaveLength(1);
});

test("a key is forgotten after the window", async () => {
  const brief = await startService({ config: { hooks: { dedupeWindow: "300ms" } } });
  try {
    const send = () => brief.post("agent", { message: "t", ...quiet }, { "idempotency-key": "k" });
    const first = await send();
    await sleep(320);
    const later = await send();
    expect(later.headers.has("idempotency-replayed")).toBe(false);
    expect(later.body.eventId).not.toBe(first.body.eventId);
  } finally {
    await brief.close();
  }
});

/** All have the same body, and all but one are marked as duplicates; returns that one. */
function expectOneEvent(answers: Answer[]): Answer {
  const firsts = answers.filter(({ headers }) => !headers.has("idempotency-replayed"));
  expect(firsts).toHaveLength(1);
  const [first] = firsts;
  for (const { status, body } of answers)
    expect({ status, body }).toEqual({ status: first!.status, body: first!.body });
  return first!;
}

function toKey(name: string, purpose: string): string {
  return `${name.replaceAll(/\W+/g, "-")}-${purpose}`;
}

async function countEvents(): Promise<number> {
  return (await service.api("/api/events?limit=1000")).events.length;
}

async function batchMessages(): Promise<string[]> {
  const { runs } = await service.api("/api/runs?limit=1000");
  const messages = runs.map((run: { action: { message: string } }) => run.action.message);
  return messages.filter((message: string) => message.startsWith("item "));
}
