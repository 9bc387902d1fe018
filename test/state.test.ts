/** `state`: values that a transform keeps between requests. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { createPostgresJournal } from "../src/stores/postgres/postgres.ts";
import { createId } from "../src/core/shared/id.ts";
import { silentTelemetry } from "../src/core/telemetry/telemetry.ts";
import type { MappingInput, UserConfig } from "../src/core/config/schema/generated.ts";
import type { Answer } from "./support/client.ts";
import { sampleEvent } from "./contracts/journal/samples.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { type Service, startService } from "./support/service.ts";

const services: Service[] = [];
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
});

/** Adds 1 to each key in the payload, in its order, and shows what it then has. */
const COUNT = `
  import type { Transform } from "hookline";
  interface Payload { keys: string[]; ttl?: string; refuse?: boolean; skip?: boolean; rounds?: number }
  const transform: Transform<Payload, { key: string }> = ({ payload, item, state }) => {
    const keys = item ? [item.key] : payload.keys;
    const sums = keys.map((key) => Number(state.get(key) ?? 0) + 1);
    keys.forEach((key, index) => state.set(key, sums[index], { ttl: payload.ttl }));
    for (let round = 0; round < (payload.rounds ?? 0); round++) Math.random();
    if (payload.refuse) throw new Error("refused");
    return payload.skip ? null : { kind: "wake", text: sums.join(), mode: "next-heartbeat" };
  };
  export default transform;`;

const files = { "transforms/count.ts": COUNT };

async function start(config: UserConfig = {}, mapping: Partial<MappingInput> = {}): Promise<Service> {
  const count: MappingInput = {
    id: "count",
    match: { path: "count" },
    action: "wake",
    state: true,
    transform: { module: "count.ts", timeoutMs: 60_000 },
    ...mapping,
  };
  const service = await startService({
    config: { ...config, hooks: { mappings: [count, { ...count, id: "other", match: { path: "other" } }] } },
    files,
  });
  services.push(service);
  return service;
}

async function textsOf(service: Service, payload: object, hook = "count"): Promise<string[]> {
  const { actions } = await service.try(hook, payload);
  return actions.map(({ text }: { text: string }) => text);
}

/** The state that the next request would have. */
async function nextOf(service: Service, key: string): Promise<number> {
  return Number((await textsOf(service, { keys: [key] }))[0]);
}

/** Sends the payloads, at most 16 at a time. */
async function sendAll<Payload>(payloads: Payload[], send: (payload: Payload) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  const left = payloads.toReversed();
  const sender = async (): Promise<void> => {
    for (let payload = left.pop(); payload !== undefined; payload = left.pop()) answers.push(await send(payload));
  };
  await Promise.all(Array.from({ length: 16 }, sender));
  return answers;
}

const KEYS = Array.from({ length: 5 }, (_, index) => `key ${index}`);
const REQUESTS = Array.from({ length: 40 }, (_, index) => ({ index, keys: [KEYS[index % KEYS.length]!], skip: true }));
/** The state that the next request of a key has. */
const NEXT = REQUESTS.length / KEYS.length + 1;

/** Each key is set through both mappings. */
const hookOf = ({ index }: { index: number }): string =>
  Math.floor(index / KEYS.length) % 2 === 0 ? "count" : "other";

test("40 requests to five keys of a shared state on one node all count, and none is answered 503", async () => {
  const service = await start({}, { state: "house" });
  const answers = await sendAll(REQUESTS, (payload) => service.post(hookOf(payload), payload));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
  expect(await Promise.all(KEYS.map((key) => nextOf(service, key)))).toEqual(KEYS.map(() => NEXT));
});

test("40 requests to five keys of a shared state on two nodes count once, if those that are answered 503 are sent again", async () => {
  const store = { url: await createPostgresUrl(), commitTimeout: "60s" };
  const nodes = [await start({ store }, { state: "house" }), await start({ store }, { state: "house" })];
  let turn = 0;
  const answers = await sendAll(REQUESTS, async (payload) => {
    for (;;) {
      const answer = await nodes[turn++ % 2]!.post(hookOf(payload), payload);
      if (answer.status !== 503) return answer;
      expect(answer.headers.get("retry-after")).toBe("1");
      await sleep(100);
    }
  });
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
  expect(await Promise.all(KEYS.map((key) => nextOf(nodes[0]!, key)))).toEqual(KEYS.map(() => NEXT));
});

test("a request whose state another node changes each time is answered 503, and can be sent again", async () => {
  const url = await createPostgresUrl();
  const service = await start({ store: { url, commitTimeout: "60s" } });
  const journal = await createPostgresJournal({
    url,
    maxConnections: 2,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
  });
  const answers: Answer[] = [];
  void service.post("count", { keys: ["a"], rounds: 1_000_000 }).then((answer) => answers.push(answer));
  for (let n = 0; answers.length === 0; n += 1) {
    const state = { name: "count", reads: [], sets: [{ key: "a", json: String(n) }] };
    await journal.accept({
      ...sampleEvent({ mapping: "count", status: "skipped", actions: [], state }),
      id: createId(),
    });
  }
  await journal.close();
  expect(answers[0]).toMatchObject({ status: 503, body: { code: "overloaded" } });
  expect((await service.api("/api/events?status=failed")).events).toMatchObject([{ mapping: "count" }]);
  expect((await service.post("count", { keys: ["a"] })).status).toBe(200);
});

test("requests that read the same keys in different orders wait for each other, but not forever", async () => {
  const service = await start();
  const orders = [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"], ["a"], ["c"]];
  const payloads = Array.from({ length: 30 }, (_, index) => ({ keys: orders[index % 5]!, skip: true }));
  const answers = await sendAll(payloads, (payload) => service.post("count", payload));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
  expect(await textsOf(service, { keys: ["a", "b", "c"] })).toEqual(["25,19,25"]);
});

describe("the state", () => {
  test("is of one mapping, is there after a restart, and ends with its ttl", async () => {
    let service = await start();
    await service.post("count", { keys: ["a", "b"] });
    await service.post("count", { keys: ["b"], ttl: "1ms" });
    service = await service.restart();
    services.splice(0, 1, service);
    expect(await nextOf(service, "a")).toBe(2);
    await expect.poll(() => nextOf(service, "b")).toBe(1);
    expect(await textsOf(service, { keys: ["a"] }, "other")).toEqual(["1"]);
  });

  test("does not change with a dry run, a refusal, a repeat or a replay", async () => {
    const service = await start();
    const skipped = await service.post("count", { keys: ["a"], skip: true }, { "idempotency-key": "one" });
    expect(skipped.status).toBe(204);
    const repeated = await service.post("count", { keys: ["a"], skip: true }, { "idempotency-key": "one" });
    expect([repeated.status, repeated.headers.get("idempotency-replayed")]).toEqual([204, "true"]);
    expect(await nextOf(service, "a")).toBe(2);
    expect(await nextOf(service, "a")).toBe(2);
    expect((await service.post("count", { keys: ["a"], refuse: true })).status).toBe(500);
    expect(await nextOf(service, "a")).toBe(2);
    const [event] = (await service.api("/api/events?status=skipped")).events;
    await service.hookline.replay(event.id);
    expect(await nextOf(service, "a")).toBe(2);
  });

  test("items of one event see what those before them set", async () => {
    const service = await start({}, { forEach: "items" });
    const items = ["a", "b", "a", "a"].map((key) => ({ key }));
    expect(await textsOf(service, { items })).toEqual(["1", "1", "2", "3"]);
    await service.post("count", { items });
    expect(await textsOf(service, { items })).toEqual(["4", "2", "5", "6"]);
  });

  test.each<{ state: true | string; presets: true | string; next: number[] }>([
    { state: true, presets: true, next: [2, 2, 1] },
    { state: true, presets: "count", next: [3, 3, 3] },
    { state: "house", presets: "house", next: [3, 3, 3] },
    { state: "house", presets: "Haus 1/2 \u{1f3e0}", next: [2, 2, 2] },
  ])("$state of a mapping and $presets of two uses of a preset", async ({ state, presets, next }) => {
    const transform = { module: "count.ts" };
    const uses = ["one", "two"].map((path) => ({ use: "./own", with: { path, transform, state: presets } }));
    const mappings = ["a", "b"].map((id) => ({ id, match: { payload: { id } }, messageTemplate: "x" }));
    const count: MappingInput = { id: "count", match: { path: "count" }, action: "wake", state, transform };
    const own = JSON.stringify({ name: "own", description: "An own preset.", mappings });
    const config: UserConfig = { hooks: { mappings: [count], presets: uses } };
    const service = await startService({ config, files: { ...files, "own/preset.json": own } });
    services.push(service);
    await service.post("count", { keys: ["a"] });
    await service.post("one", { id: "a", keys: ["a"] });
    // The other mapping of each use.
    const seen = ["count", "one", "two"].map((hook) => textsOf(service, { id: "b", keys: ["a"] }, hook));
    expect((await Promise.all(seen)).flat().map(Number)).toEqual(next);
  });

  test("a call reads at most eight keys", async () => {
    const service = await start();
    const keys = Array.from({ length: 9 }, (_, index) => `k${index}`);
    expect((await service.post("count", { keys: keys.slice(0, 8) })).status).toBe(200);
    expect(await service.post("count", { keys })).toMatchObject({ status: 500, body: { code: "transform_failed" } });
    const [event] = (await service.api("/api/events?status=failed")).events;
    expect((await service.api(`/api/events/${event.id}`)).error.detail).toContain("A call can read 8 keys");
  });
});
