import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Callback,
  createSecret,
  isSignedBy,
  type Json,
  OTHER_TOKEN,
  publishing,
  rpc,
  startCallback,
} from "../support/mcp.ts";
import { type Service, startService } from "../support/service.ts";

let service: Service;
let callback: Callback;
beforeEach(async () => {
  callback = await startCallback();
  service = await startService({ config: publishing() });
});
afterEach(async () => {
  await service.close();
  await callback.close();
});

const deploy = (env: string, n: number) => service.post("deploys", { env, n, password: "secret" });

async function subscribe(params: object = {}, options: Parameters<typeof rpc>[3] = {}) {
  const secret = createSecret();
  const delivery = { mode: "webhook", url: callback.url, secret };
  return { secret, ...(await rpc(service.url, "events/subscribe", { name: "deploys", delivery, ...params }, options)) };
}

/** Polls until there is nothing more. */
async function pollAll(cursor: string, params: object = {}, options: Parameters<typeof rpc>[3] = {}) {
  const events: Json[] = [];
  for (let next = cursor; ;) {
    const { result, error } = await rpc(
      service.url,
      "events/poll",
      { name: "deploys", cursor: next, ...params },
      options,
    );
    if (error) throw new Error(error.message);
    events.push(...result.events);
    next = result.cursor;
    if (!result.hasMore) return { events, cursor: next };
  }
}

test("the action none starts nothing: the event is done, and published", async () => {
  const first = await rpc(service.url, "events/poll", { name: "deploys" });
  expect(first).toMatchObject({
    status: 200,
    result: { events: [], truncated: false, hasMore: false, resultType: "complete" },
  });
  const answer = await deploy("production", 1);
  expect(answer).toMatchObject({ status: 200, body: { ok: true } });
  expect(Object.keys(answer.body).toSorted()).toEqual(["eventId", "ok"]);
  expect(await service.api(`/api/events/${answer.body.eventId}`)).toMatchObject({ status: "done", runs: [] });
  const polled = await rpc(service.url, "events/poll", {
    name: "deploys",
    cursor: first.result.cursor,
    timeoutMs: 20_000,
  });
  expect(polled.result.events).toEqual([
    {
      eventId: answer.body.eventId,
      name: "deploys",
      timestamp: expect.any(String),
      data: { env: "production", n: 1 },
      _meta: { "hookline/via": [first.result.cursor.split(".")[0]] },
    },
  ]);
  expect(await pollAll(polled.result.cursor)).toEqual({ events: [], cursor: polled.result.cursor });
});

test("events/list shows what the principal may see, with the values that are fixed for it", async () => {
  await deploy("production", 1);
  await expect
    .poll(async () => (await rpc(service.url, "events/list")).result.events)
    .toEqual([
      {
        name: "deploys",
        description: "An event of the webhook deploys.",
        delivery: ["poll", "webhook"],
        inputSchema: {
          type: "object",
          properties: { env: { type: ["string", "number", "boolean"] }, n: { type: ["string", "number", "boolean"] } },
          additionalProperties: false,
        },
        payloadSchema: { type: "object", properties: { env: { type: "string" }, n: { type: "number" } } },
      },
    ]);
  const other = await rpc(service.url, "events/list", {}, { token: OTHER_TOKEN });
  expect(other.result.events[0].inputSchema.properties.env).toEqual({ enum: ["staging"] });
});

describe("a webhook subscription", () => {
  test("is verified once, and gets signed occurrences that match its filter", async () => {
    const { secret, result } = await subscribe({ arguments: { env: "production" } });
    expect(result).toMatchObject({ id: expect.stringMatching(/^sub_/), truncated: false });
    expect(callback.challenges).toHaveLength(1);
    expect(isSignedBy(callback.challenges[0]!, secret)).toBe(true);
    await deploy("staging", 1);
    const { body } = await deploy("production", 2);
    await expect.poll(() => callback.received.length).toBe(1);
    const [message] = callback.received;
    expect(message!.body).toMatchObject({ eventId: body.eventId, name: "deploys", data: { env: "production", n: 2 } });
    expect(message!.headers).toMatchObject({ "webhook-id": body.eventId, "x-mcp-subscription-id": result.id });
    expect(isSignedBy(message!, secret)).toBe(true);
    expect(message!.path).toBe("/events?mcp_event_subscription=abc");
    await subscribe({ arguments: { env: "staging" } });
    expect(callback.challenges).toHaveLength(1);
  });

  test("keeps its place over a restart, and is gone after unsubscribe", async () => {
    await subscribe();
    await deploy("production", 1);
    await expect.poll(() => callback.received.length).toBe(1);
    service = await service.restart();
    await deploy("production", 2);
    await expect.poll(() => callback.received.map(({ body }) => body.data.n)).toEqual([1, 2]);
    const params = { name: "deploys", delivery: { url: callback.url } };
    expect((await rpc(service.url, "events/unsubscribe", params)).error).toBeUndefined();
    expect((await rpc(service.url, "events/unsubscribe", params)).error).toMatchObject({ code: -32011 });
    expect(await service.api("/api/subscriptions")).toEqual({ subscriptions: [] });
  });
});
