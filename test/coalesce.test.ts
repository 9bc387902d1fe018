/** A burst of events with one key becomes one action with all of them. */
import { afterEach, expect, test } from "vitest";
import type { MappingInput } from "../src/core/config/schema/generated.ts";
import { type Service, startService } from "./support/service.ts";

let service: Service;
afterEach(() => service.close());

/** Longer than any test, so that the window stays open and the run shows the joined events. */
const OPEN = { key: "{{pr}}", windowMs: 3_600_000 };

const pushes: MappingInput = {
  match: { path: "push" },
  messageTemplate: "{{pr}}: {{commit}}",
  coalesce: OPEN,
  dedupe: "{{id}}",
  deliver: false,
  wakeMode: "next-heartbeat",
};

interface Push {
  pr?: string;
  commit: string;
  id?: string;
}

test("each event is answered and recorded, and one turn gets all of them in order", async () => {
  await start({ ...pushes, coalesce: { ...OPEN, windowMs: 4000 } });
  const first = await push({ pr: "#1", commit: "a" });
  const other = await push({ pr: "#2", commit: "x" });
  const second = await push({ pr: "#1", commit: "b" });
  const third = await push({ pr: "#1", commit: "c" });

  expect(first.body).not.toHaveProperty("coalesced");
  for (const { status, body } of [second, third]) {
    expect(status).toBe(202);
    expect(body).toMatchObject({
      runId: first.body.runId,
      sessionKey: first.body.sessionKey,
      coalesced: true,
    });
    expect(body.eventId).not.toBe(first.body.eventId);
  }
  for (const { body } of [first, second, third]) {
    const event = await service.settled(body.eventId);
    expect(event).toMatchObject({ status: "done", runs: [{ id: first.body.runId, state: "done" }] });
  }
  expect(await promptOf(first.body.sessionKey)).toMatch(
    /\[1 of 3\]\n#1: a\n\n\[2 of 3\]\n#1: b\n\n\[3 of 3\]\n#1: c\n<<<END_EXTERNAL_UNTRUSTED_CONTENT/,
  );
  await service.settled(other.body.eventId);
  expect(await promptOf(other.body.sessionKey)).toContain("---\n#2: x\n<<<END");
  expect(await turns()).toBe(2);
});

test("an event after the window opens another", async () => {
  await start({ ...pushes, coalesce: { ...OPEN, windowMs: 200 } });
  const first = await push({ pr: "#1", commit: "a" });
  await service.settled(first.body.eventId);
  const next = await push({ pr: "#1", commit: "b" });
  expect(next.body.runId).not.toBe(first.body.runId);
  expect(next.body).not.toHaveProperty("coalesced");
});

test("a blank key coalesces with nothing", async () => {
  await start();
  const [first, second] = [await push({ commit: "a" }), await push({ commit: "b" })];
  expect(second.body.runId).not.toBe(first.body.runId);
});

test("a redelivery in the window gets the same answer and adds nothing", async () => {
  await start();
  const first = await push({ pr: "#1", commit: "a", id: "1" });
  const second = await push({ pr: "#1", commit: "b", id: "2" });
  for (const [id, before] of [["1", first] as const, ["2", second] as const]) {
    const again = await push({ pr: "#1", commit: "again", id });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(before.body);
  }
  expect(await runsOf(first.body.eventId)).toMatchObject([
    { action: { message: "#1: a" }, joined: { messages: ["#1: b"] } },
  ]);
});

test("a burst at once, and a restart within the window: one turn, nothing lost", async () => {
  await start();
  const commits = Array.from({ length: 40 }, (_, index) => `commit-${index}.`);
  const answers = await Promise.all(commits.map((commit) => push({ pr: "#1", commit })));
  expect(new Set(answers.map(({ body }) => body.runId)).size).toBe(1);
  expect(answers.filter(({ body }) => body.coalesced)).toHaveLength(39);
  service = await service.restart();
  const late = await push({ pr: "#1", commit: "late." });
  expect(late.body).toMatchObject({ runId: answers[0]!.body.runId, coalesced: true });
  const [run, ...others] = await runsOf(late.body.eventId);
  const messages = [run.action.message, ...run.joined.messages];
  expect(messages).toHaveLength(41);
  expect(new Set(messages)).toEqual(new Set([...commits, "late."].map((commit) => `#1: ${commit}`)));
  expect(others).toEqual([]);
  expect(await turns()).toBe(1);
});

test("the items of one request coalesce too", async () => {
  await start({
    ...pushes,
    forEach: "items",
    coalesce: { key: "{{item.pr}}", windowMs: 50 },
    dedupe: undefined,
  });
  const items = [{ pr: "#1" }, { pr: "#2" }, { pr: "#1" }];
  const { status, body } = await service.post("push", { pr: "x", items });
  expect(status).toBe(202);
  const [one, two, three] = body.actions;
  expect(three).toEqual({ ...one, coalesced: true });
  expect(two.runId).not.toBe(one.runId);
  expect(await service.settled(body.eventId)).toMatchObject({ status: "done", outcome: "2 turns ✓" });
  expect(await turns()).toBe(2);
  const same = await service.post("push", { pr: "x", items: [{ pr: "#3" }, { pr: "#3" }] });
  expect((await service.settled(same.body.eventId)).outcome).toMatch(/^turn \d/);
});

test("messages with and without the safety boundary do not share a turn", async () => {
  const transform = { module: "x.ts" };
  const coalesce = { ...OPEN, windowMs: 1200 };
  const mapping = { ...pushes, coalesce, transform, allowUnsafeExternalContent: true };
  await start(mapping, 'export default ({ payload }) => ({ allowUnsafeExternalContent: payload.id === "own" });');
  const own = await push({ pr: "#1", commit: "a", id: "own" });
  const other = await push({ pr: "#1", commit: "b", id: "other" });
  expect(other.body.runId).not.toBe(own.body.runId);
  await service.settled(own.body.eventId);
  expect(await promptOf(own.body.sessionKey)).toBe("#1: a");
});

test("a member's message and a stranger's do not share a turn", async () => {
  await start({ ...pushes, from: { value: "{{by}}", is: ["ann", "anyone"] } });
  const runs: string[] = [];
  for (const [id, by] of ["ann", "eve", "ann", "eve"].entries())
    runs.push((await service.post("push", { pr: "#1", commit: "a", id, by })).body.runId);
  expect(runs.slice(2)).toEqual(runs.slice(0, 2));
  expect(new Set(runs).size).toBe(2);
});

test("two hooks of one mapping do not share a turn, since each names its origin", async () => {
  await start({ ...pushes, match: {} });
  const here = await service.post("here", { pr: "#1", commit: "a" });
  const there = await service.post("there", { pr: "#1", commit: "b" });
  expect(there.status).toBe(202);
  expect(there.body.runId).not.toBe(here.body.runId);
});

test("several actions of one request stay separate, and later ones join by key", async () => {
  await start(
    { ...pushes, transform: { module: "x.ts" } },
    'export default ({ base }) => [{ message: "short " + base.message }, { message: "long " + base.message }];',
  );
  const first = await push({ pr: "#1", commit: "a" });
  const second = await push({ pr: "#1", commit: "b" });
  expect(first.body.runIds[0]).not.toBe(first.body.runIds[1]);
  expect(second.body.runIds).toEqual(first.body.runIds);
  expect(await runsOf(second.body.eventId)).toMatchObject([
    { action: { message: "short #1: a" }, joined: { messages: ["short #1: b"] } },
    { action: { message: "long #1: a" }, joined: { messages: ["long #1: b"] } },
  ]);
});

test("wakes do not coalesce: a heartbeat takes all pending ones", async () => {
  await start({ ...pushes, action: "wake", textTemplate: "{{commit}}", messageTemplate: undefined });
  const first = await push({ pr: "#1", commit: "a" });
  const second = await push({ pr: "#1", commit: "b" });
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(second.body).not.toHaveProperty("coalesced");
  const main = await service.api("/api/sessions/main");
  expect(main.entries).toHaveLength(2);
});

async function start(mapping: MappingInput = pushes, transform = ""): Promise<void> {
  service = await startService({
    config: { hooks: { mappings: [mapping] } },
    files: { "transforms/x.ts": transform },
  });
}

function push(payload: Push) {
  return service.post("push", payload);
}

/** The agent's input in a session of one turn. */
async function promptOf(sessionKey: string): Promise<string> {
  const { entries } = await service.api(`/api/sessions/${encodeURIComponent(sessionKey)}`);
  return entries[0].text;
}

/** The runs that contain the event's message. */
async function runsOf(eventId: string) {
  return (await service.api(`/api/events/${eventId}`)).runs;
}

async function turns(): Promise<number> {
  return (await service.api("/api/runs")).runs.length;
}
