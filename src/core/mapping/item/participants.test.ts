import { beforeEach, expect, test } from "vitest";
import { DAY_MS } from "../../shared/time.ts";
import { findParticipation } from "./participants.ts";
import { openEmptyState, type RequestState } from "../state.ts";

const KEY = "hook:mail:thread:a@example.com";
const APART = { sessionKey: expect.stringMatching(/^hook:mail:thread:a@example\.com:[\w-]{16}$/), isApart: true };

let state: RequestState;
let events = 0;
beforeEach(() => (state = openEmptyState("mail")));

function find(author: string, ...others: string[]) {
  const rendered = [author, ...others].join("\n");
  return findParticipation({ key: KEY, rendered, eventId: `e${events++}`, ttlMs: DAY_MS }, state);
}

test("who was named in a conversation takes part in it, and others begin one of their own", async () => {
  const shared = { sessionKey: KEY, isApart: false };
  expect(await find("ann@x", "ann@x", "bob@x")).toEqual(shared);
  expect(await find("Bob@X", "cy@x")).toEqual(shared);
  expect(await find("cy@x")).toEqual(shared);
  const eve = await find("eve@y", "ann@x", "zoe@y");
  expect(eve).toEqual(APART);
  expect(await find("eve@y")).toEqual({ ...eve, isApart: false });
  expect(await find("zoe@y")).toEqual({ ...eve, isApart: false });
  expect(await find("ann@x")).toEqual(shared);
  expect((await find("mallory@y")).sessionKey).not.toBe(eve.sessionKey);
});

test.each([["first"], ["later"]])("who is not known takes part in nothing: %s", async (when) => {
  if (when === "later") await find("ann@x");
  const one = await find("", "ann@x");
  expect(one).toEqual(APART);
  expect(await find("", "ann@x")).not.toEqual(one);
  expect(state.result().sets.map(({ json = "{}" }) => Object.keys(JSON.parse(json)).length)).toEqual([
    when === "later" ? 1 : 0,
  ]);
  expect(await find("ann@x")).toEqual({ sessionKey: KEY, isApart: false });
});

test("a conversation that is flooded keeps its people, and strangers have sessions of their own", async () => {
  await find("ann@x");
  const keys = new Set<string>();
  for (let index = 0; index < 100; index += 1) keys.add((await find(`eve${index}@y`)).sessionKey);
  expect([keys.size, keys.has(KEY)]).toEqual([100, false]);
  expect(await find("ann@x")).toEqual({ sessionKey: KEY, isApart: false });
  for (const { json = "" } of state.result().sets) expect(json.length).toBeLessThan(17_000);
});

test("a long key stays in its limit", async () => {
  const key = "k".repeat(256);
  const options = { key, eventId: "e", ttlMs: DAY_MS };
  await findParticipation({ ...options, rendered: "ann@x" }, state);
  const { sessionKey } = await findParticipation({ ...options, rendered: "eve@y" }, state);
  expect(sessionKey).toHaveLength(256);
  expect(sessionKey).not.toBe(key);
});
