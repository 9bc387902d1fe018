/** A reply with several targets: each is a delivery of its own. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FaultProxy, startFaultProxy } from "../src/contracts/fault-proxy.ts";
import type { MappingInput, UserConfig } from "../src/core/config/schema/generated.ts";
import { type HttpTarget, startHttpTarget } from "./support/http-target.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

const TRANSFORM = "export default ({ payload }) => ({ message: payload.text, ...payload.action });";
const SPREAD = "export default ({ base, payload }) => ({ ...base, message: payload.text, ...payload.action });";
const files = { "hooks/choose.ts": TRANSFORM, "hooks/spread.ts": SPREAD };
const listed: MappingInput["deliver"] = [
  { name: "ops", channel: "http", to: "ops" },
  { name: "dev", channel: "http", to: "dev", when: "{{#if bug}}yes{{/if}}" },
  { channel: "source", update: true },
];

let target: HttpTarget;
let ops: FaultProxy;
let service: Service;
beforeEach(async () => {
  target = await startHttpTarget();
  ops = await startFaultProxy(target.url);
});
afterEach(async () => {
  await service?.close();
  await ops.close();
  await target.close();
});

function toConfig(deliver: MappingInput["deliver"], more: UserConfig = {}): UserConfig {
  const mapping: MappingInput = { agent: "none", wakeMode: "next-heartbeat", deliver, sessionKey: "s" };
  const source = { channel: "http", to: "{{place}}" };
  return {
    channels: {
      http: { targets: { ops: { url: ops.url }, dev: { url: target.url }, place: { url: target.url } }, allow: ["*"] },
    },
    hooks: {
      transformsDir: "hooks",
      mappings: [
        { ...mapping, id: "m", match: { path: "m" }, messageTemplate: "{{text}}", source },
        { ...mapping, id: "t", match: { path: "t" }, source, transform: { module: "choose.ts" } },
        { ...mapping, id: "spread", match: { path: "spread" }, source, transform: { module: "spread.ts" } },
      ],
    },
    ...more,
  };
}

async function send(hook: string, payload: object) {
  const { status, body } = await service.post(hook, payload);
  const event = body.eventId === undefined ? undefined : await service.settled(body.eventId);
  const to = (event?.deliveries ?? []).map((delivery: { to: string }) => delivery.to).toSorted();
  return { status, body, event, to };
}

describe.each(["SQLite", "PostgreSQL"])("in %s", (store) => {
  test("each target is its own delivery: one that fails is a dead letter, and holds back no other", async () => {
    const more: UserConfig = store === "PostgreSQL" ? { store: { url: await createPostgresUrl() } } : {};
    service = await startService({ config: toConfig(listed, more), files });
    ops.inject({ kind: "answer", status: 400 });
    const { event, to, body } = await send("m", { text: "Hello.", bug: true, place: "place" });
    expect(to).toEqual(["dev", "ops", "place"]);
    expect(event.status).toBe("failed");
    expect(event.outcome).toMatch(/^turn .* → http ops ✗ The target ops answered 400/);
    const states = event.deliveries.map((delivery: { to: string; state: string }) => [delivery.to, delivery.state]);
    expect(Object.fromEntries(states)).toEqual({ ops: "failed", dev: "sent", place: "sent" });
    const failed = event.deliveries.find((delivery: { state: string }) => delivery.state === "failed");
    ops.inject();
    const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
    const retried = await fetch(`${service.url}/api/dead-letters/${failed.id}/retry`, { method: "POST", headers });
    expect(retried.status).toBe(200);
    expect(await service.settled(body.eventId)).toMatchObject({
      status: "done",
      outcome: expect.stringMatching(/ → http \w+ and 2 more ✓$/),
    });
    expect(await target.posted()).toHaveLength(3);
  });
});

describe("the targets of a mapping", () => {
  test.each([
    ["when is blank", { place: "place" }, ["ops", "place"]],
    ["the event names no place", { bug: true }, ["dev", "ops"]],
    ["two are equal", { bug: true, place: "ops" }, ["dev", "ops"]],
  ])("%s", async (_case, payload, expected) => {
    service = await startService({ config: toConfig(listed), files });
    const { to, body } = await send("m", { text: "x", ...payload });
    expect(to).toEqual(expected);
    const warnings =
      "place" in payload ? [] : ["The event names no place for a reply: it will not be delivered there."];
    expect(body.warnings ?? []).toEqual(warnings);
  });

  test.each<[string, MappingInput["deliver"], string[]]>([
    ["an empty list is false", [], []],
    ["when says false", [{ channel: "http", to: "ops", when: "{{bug}}" }], []],
    ["one item", [{ channel: "http", to: "ops" }], ["ops"]],
  ])("%s", async (_case, deliver, expected) => {
    service = await startService({ config: toConfig(deliver), files });
    const { event, to } = await send("m", { text: "x", bug: false, place: "place" });
    expect(to).toEqual(expected);
    expect(event.status).toBe("done");
  });
});

describe("a transform", () => {
  test.each([
    ["says nothing", {}, ["ops", "place"]],
    ["names one", { deliver: ["ops"] }, ["ops"]],
    ["names one whose when says no", { deliver: ["dev"] }, []],
    ["returns an empty list", { deliver: [] }, []],
    ["returns false", { deliver: false }, []],
    ["returns true", { deliver: true }, ["ops", "place"]],
    ["says itself where the reply goes", { channel: "http", to: "dev" }, ["dev"]],
  ])("that %s", async (_case, action, expected) => {
    service = await startService({ config: toConfig(listed), files });
    expect((await send("t", { text: "x", place: "place", action })).to).toEqual(expected);
  });

  test.each([
    ["says nothing else", listed, {}, ["ops", "place"]],
    ["names one", listed, { deliver: ["ops"] }, ["ops"]],
    ["names the place of the event", true as const, { channel: "source" }, ["place"]],
  ])("that returns its base and %s", async (_case, deliver, action, expected) => {
    service = await startService({ config: toConfig(deliver), files });
    expect((await send("spread", { text: "x", place: "place", action })).to).toEqual(expected);
  });

  test.each([
    ["a name that the mapping lacks", { deliver: ["ops", "boss"] }],
    ["names and a channel", { deliver: ["ops"], channel: "http" }],
    ["a target that is no name", { deliver: [{ channel: "http" }] }],
  ])("that returns %s has failed", async (_case, action) => {
    service = await startService({ config: toConfig(listed), files });
    const { body } = await send("t", { text: "x", action });
    expect(body).toMatchObject({ code: "transform_failed" });
  });

  test("the built-in hook agent takes only a boolean", async () => {
    service = await startService({ config: toConfig(listed), files });
    expect(await service.post("agent", { message: "x", deliver: ["ops"] })).toMatchObject({ status: 400 });
  });
});

describe("problems at load", () => {
  const mapping = { id: "m", match: { path: "m" }, messageTemplate: "x", deliver: [{ channel: "http", to: "ops" }] };
  const isRemoved = "deliver is a list, and each of its targets has this setting. Remove it here.";

  test.each<[string, object, string]>([
    ["channel", { channel: "http" }, isRemoved],
    ["to", { to: "ops" }, isRemoved],
    ["update", { update: true }, isRemoved],
    ["deliver[0].channel", { deliver: [{ channel: "slack" }] }, "slack"],
    ["deliver[0].update", { deliver: [{ channel: "http", update: true }] }, 'only for the channel "source"'],
    ["deliver[1].name", { deliver: ["a", "a"].map((name) => ({ name, channel: "last" })) }, '"a"'],
    ["deliver[0].when", { deliver: [{ channel: "last", when: "{{#if}}" }] }, ""],
  ])("%s", async (key, more, message) => {
    const { channels } = toConfig(true);
    service = await startService();
    const config = { channels, hooks: { mappings: [{ ...mapping, ...more }] } } as UserConfig;
    const problem = { key: `hooks.mappings[0].${key}`, message: expect.stringContaining(message) };
    await expect(service.reload(config)).rejects.toMatchObject({
      problems: expect.arrayContaining([expect.objectContaining(problem)]),
    });
  });
});
