import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Callback,
  createSecret,
  isSignedBy,
  type Json,
  MCP_TOKEN,
  publishing,
  rpc,
  startCallback,
} from "../support/mcp.ts";
import { createPostgresUrl } from "../support/postgres.ts";
import { type Service, startService } from "../support/service.ts";

let service: Service;
let callback: Callback;
beforeEach(async () => {
  callback = await startCallback();
});
afterEach(async () => {
  await service.close();
  await callback.close();
});

async function subscribe(params: Json = {}) {
  const secret = params.secret ?? createSecret();
  const delivery = { mode: "webhook", url: callback.url, secret, ...params.delivery };
  const answer = await rpc(service.url, "events/subscribe", { name: "deploys", ...params, delivery });
  return { ...answer, secret };
}

const deploy = (n: number) => service.post("deploys", { env: "a", n });
const numbers = () => callback.received.map(({ body }) => body.data?.n);

describe("a subscription", () => {
  beforeEach(async () => {
    service = await startService({ config: publishing() });
  });

  test("has a time to live between five minutes and a day, or none", async () => {
    const ttl = async (ttlMs?: number | null) => {
      const { result } = await subscribe(ttlMs === undefined ? {} : { ttlMs });
      return result.refreshBefore === null
        ? null
        : Math.round((Date.parse(result.refreshBefore) - Date.now()) / 60_000);
    };
    expect([await ttl(), await ttl(1), await ttl(7_200_000), await ttl(1e12), await ttl(null)]).toEqual([
      60,
      5,
      120,
      1440,
      null,
    ]);
    expect((await subscribe({ ttlMs: "soon" })).error).toMatchObject({ code: -32602 });
  });

  test("begins at its cursor, and a live refresh ignores an older one", async () => {
    const first = await rpc(service.url, "events/poll", { name: "deploys" });
    for (const n of [1, 2, 3]) await deploy(n);
    const second = await rpc(service.url, "events/poll", {
      name: "deploys",
      cursor: first.result.cursor,
      maxEvents: 1,
      timeoutMs: 20_000,
    });
    expect(second.result).toMatchObject({ events: [{ data: { n: 1 } }] });
    const made = await subscribe({ cursor: second.result.cursor });
    expect(made.result).toMatchObject({ cursor: second.result.cursor, truncated: false });
    await expect.poll(numbers).toEqual([2, 3]);
    const refreshed = await subscribe({ cursor: first.result.cursor });
    expect(refreshed.result).toMatchObject({ id: made.result.id, truncated: false, deliveryStatus: { active: true } });
    await deploy(4);
    await expect.poll(numbers).toEqual([2, 3, 4]);
  });

  test("with a cursor of another store, of the future or of no store begins with the oldest, and says that events may be missing", async () => {
    const begin = (await rpc(service.url, "events/poll", { name: "deploys" })).result;
    await deploy(1);
    await deploy(2);
    const poll = async (cursor: string) => (await rpc(service.url, "events/poll", { name: "deploys", cursor })).result;
    await expect.poll(async () => (await poll(begin.cursor)).events).toHaveLength(2);
    const { cursor } = await poll(begin.cursor);
    const [store, digits] = cursor.split(".");
    for (const wrong of [`other.${digits}`, `${store}.9${digits}`, `${store}.${Number(digits) + 1}`, "nonsense"]) {
      const polled = await poll(wrong);
      expect(polled).toMatchObject({ truncated: true, cursor });
      expect(polled.events).toHaveLength(2);
    }
    expect((await subscribe({ cursor: "other.0" })).result).toMatchObject({ truncated: true, cursor: begin.cursor });
    await expect.poll(numbers).toEqual([1, 2]);
  });

  test("signs with the old secret too for a while after a rotation", async () => {
    const first = await subscribe();
    const second = await subscribe();
    await deploy(1);
    await expect.poll(() => callback.received.length).toBe(1);
    const [message] = callback.received;
    expect([isSignedBy(message!, first.secret), isSignedBy(message!, second.secret)]).toEqual([true, true]);
    expect(isSignedBy(message!, createSecret())).toBe(false);
  });

  test("is not made for an address that does not answer the challenge", async () => {
    callback.echo = () => ({ status: 200, body: '{"challenge":"no"}' });
    expect((await subscribe()).error).toMatchObject({ code: -32015, data: { reason: "challenge_failed" } });
    callback.echo = undefined;
    expect((await subscribe()).error).toMatchObject({ code: -32015 });
    expect(callback.challenges).toHaveLength(1);
    const dead = { delivery: { url: "http://127.0.0.1:1/" } };
    expect((await subscribe(dead)).error).toMatchObject({ code: -32015, data: { reason: "connection_refused" } });
    expect(await service.api("/api/subscriptions")).toEqual({ subscriptions: [] });
  });

  test.each([
    [{ delivery: { mode: "push" } }, -32014],
    [{ delivery: { url: "http://example.com/" } }, -32602],
    [{ secret: "whsec_c2hvcnQ=" }, -32602],
    [{ secret: "0123456789012345678901234567890123456789" }, -32602],
    [{ name: "unknown" }, -32011],
    [{ arguments: { unknown: 1 } }, -32602],
    [{ arguments: { env: { nested: 1 } } }, -32602],
    [{ arguments: [] }, -32602],
    [{ cursor: 7 }, -32602],
  ])("with %j is refused with %i", async (params, code) => {
    expect((await subscribe(params)).error).toMatchObject({ code });
    expect(callback.challenges).toEqual([]);
  });

  test("stores its secret encrypted, with a key that only the owner can read, and shows neither key nor query", async () => {
    const { secret, result } = await subscribe();
    const key = path.join(service.folder, ".webhooks", "mcp.key");
    expect(statSync(key).mode & 0o777).toBe(0o600);
    const shown = JSON.stringify(await service.api(`/api/subscriptions/${result.id}`));
    expect(shown).toContain("http://127.0.0.1");
    expect(shown).not.toContain("abc");
    await service.hookline.close();
    const stored = readFileSync(path.join(service.folder, ".webhooks", "journal.db")).toString("latin1");
    expect(stored).toContain(result.id);
    expect(stored).not.toContain(secret);
    service = await service.restart();
  });
});

describe("a subscription ends", () => {
  const ALL = { principals: { desk: { secret: MCP_TOKEN, events: ["*"] } } };

  async function begin(filter: object = {}): Promise<void> {
    service = await startService({ config: publishing(ALL) });
    expect((await subscribe({ arguments: filter })).error).toBeUndefined();
  }

  /** The message that the subscriber gets, once the subscription is gone. */
  async function readEnd(): Promise<Json> {
    await expect.poll(() => callback.received.length).toBe(1);
    expect(callback.received[0]!.headers["webhook-id"]).toMatch(/^msg_terminated_/);
    await expect.poll(() => service.api("/api/subscriptions")).toEqual({ subscriptions: [] });
    return callback.received[0]!.body;
  }

  test("not when the event gains an argument", async () => {
    await begin({ env: "a" });
    const more = { arguments: { env: "{{payload.env}}", n: "{{payload.n}}", more: "{{payload.more}}" } };
    await service.reload(publishing(ALL, { publish: more }));
    await deploy(1);
    await expect.poll(numbers).toEqual([1]);
  });

  test("when it has no end, and was suspended for seven days", async () => {
    service = await startService({ config: publishing(ALL) });
    await subscribe({ ttlMs: null });
    await service.hookline.close();
    const database = new DatabaseSync(path.join(service.folder, ".webhooks", "journal.db"));
    const longAgo = Date.now() - 8 * 86_400_000;
    database
      .prepare(
        `UPDATE subscriptions SET terms = json_set(terms, '$.refreshedAt', ?1),
           progress = json_set(progress, '$.suspendedAt', ?1)`,
      )
      .run(longAgo);
    database.close();
    service = await service.restart();
    expect(await readEnd()).toEqual({ type: "terminated", error: { code: -32015, message: expect.any(String) } });
  });

  test("when its principal is removed", async () => {
    await begin();
    await service.reload(publishing({ principals: { another: { secret: MCP_TOKEN, events: ["*"] } } }));
    expect(await readEnd()).toEqual({ type: "terminated", error: { code: -32012, message: expect.any(String) } });
  });

  test("when its pattern is removed", async () => {
    await begin();
    await service.reload(publishing({ principals: { desk: { secret: MCP_TOKEN, events: ["builds"] } } }));
    expect(await readEnd()).toEqual({ type: "terminated", error: { code: -32012, message: expect.any(String) } });
  });

  test("when its event is not published any more", async () => {
    await begin();
    await service.reload(publishing(ALL, { match: { path: "builds" } }));
    expect(await readEnd()).toEqual({
      type: "terminated",
      error: { code: -32011, message: expect.any(String), data: { kind: "event" } },
    });
  });

  test("when an argument that it filters by is gone", async () => {
    await begin({ env: "a" });
    await service.reload(publishing(ALL, { publish: { arguments: { n: "{{payload.n}}" } } }));
    expect(await readEnd()).toEqual({
      type: "terminated",
      error: { code: -32014, message: expect.any(String), data: { feature: "inputSchema", reason: "schema_changed" } },
    });
  });
});

test("a node without the event of a subscription ends nothing while another node has another configuration", async () => {
  const [key, store] = ["k".repeat(43), { url: await createPostgresUrl() }];
  const withKey = (mapping: object) => ({ ...publishing({ key }, mapping), store });
  const old = await startService({ config: withKey({ match: { path: "builds" } }) });
  const client = new Client(store.url);
  await client.connect();
  const read = async (query: string) => (await client.query(query)).rows;
  await expect.poll(() => read("SELECT 1 FROM hookline.leases WHERE name = 'publications'")).toHaveLength(1);
  service = await startService({ config: withKey({}) });
  expect((await subscribe()).error).toBeUndefined();
  await deploy(1);
  await expect.poll(() => read("SELECT 1 FROM hookline.publishing WHERE position > 0")).toHaveLength(1);
  await client.end();
  await old.close();
  await expect.poll(() => callback.received.map(({ body }) => body.data ?? body)).toEqual([{ env: "a", n: 1 }]);
});

test("a secret that cannot be read suspends its subscription, and a refresh brings it back without a loss", async () => {
  const withKey = (key: string) => publishing({ key });
  service = await startService({ config: withKey("the-first-key-0123456789-0123456789") });
  const { result } = await subscribe({ ttlMs: null });
  await service.reload(withKey("another-key-0123456789-0123456789-"));
  service = await service.restart();
  await deploy(1);
  const show = () => service.api(`/api/subscriptions/${result.id}`);
  await expect.poll(show).toMatchObject({ state: "suspended", lastError: "unreadable_secret" });
  expect(callback.received).toEqual([]);
  await subscribe({ ttlMs: null });
  await expect.poll(numbers).toEqual([1]);
  await expect.poll(show).toMatchObject({ state: "active", behind: 0 });
});
