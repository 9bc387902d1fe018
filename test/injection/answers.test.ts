/** Each rule of an answer and of a press is needed: without it, one counts that must not. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ANSWER_RULES, takeAnswer, type TakeOptions } from "../../src/core/approvals/chat-answer.ts";
import { PRESS_RULES, takePress, type PressOptions, toButtonHash } from "../../src/core/approvals/press.ts";
import { compilePlaces } from "../../src/core/mapping/policy/bounds.ts";
import type { Journal, NewApproval } from "../../src/core/journal/journal.ts";
import { claimRun } from "../contracts/journal/lost-claims.ts";
import { open as openPostgres } from "../contracts/journal/openers/postgres.ts";
import { open } from "../contracts/journal/openers/sqlite.ts";
import { sampleApproval, sampleDelivery } from "../contracts/journal/samples.ts";
import { silentLog } from "../../src/core/telemetry/log.ts";
import { vendors } from "../../src/vendors/index.ts";
import { toRequest } from "../support/mapping.ts";

let folder: string;
let journal: Journal;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-answers-"));
  journal = await open(folder);
});
afterEach(async () => {
  await journal.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Asks in Slack, and gives the code. */
async function ask(parts: Partial<NewApproval> = {}): Promise<string> {
  const run = await claimRun(journal);
  const { id: runId, eventId } = run;
  const question = sampleDelivery(runId, { eventId, channel: "slack", to: "C0OPS", isQuestion: true });
  const approval = await sampleApproval(journal, run, { expiresAt: Date.now() + 60_000, ...parts, question });
  await journal.holdRun(run, "approval", { asked: [approval], open: [], steps: [] });
  const [delivery] = await journal.claimDeliveries(1, Date.now());
  const route = { channel: "slack", to: "C0OPS" };
  const end = { state: "sent", at: Date.now(), route, partsSent: 1, messageId: "C0OPS:1.1" } as const;
  await journal.finishDelivery(delivery!, end);
  return approval.code;
}

/** A use of the preset, with its `place`. */
function toUse(name: string, place?: string[], channel = "slack") {
  const source = { id: name, preset: "slack", mapping: { source: { channel } } };
  return { credential: `auth:${name}`, source, bounds: place && { covers: compilePlaces(place) } };
}

async function answer(code: string, event: object = {}, changes: Partial<TakeOptions> = {}): Promise<boolean> {
  const ts = `${Math.floor(Date.now() / 1000)}.500000`;
  const message = { type: "message", channel: "C0OPS", user: "U0ANN", team: "T0ACME", text: `approve ${code}`, ts };
  const payload = { type: "event_callback", team_id: "T0ACME", event: { ...message, ...event } };
  const taken = await takeAnswer(toRequest("slack", payload, { credential: "auth:slack" }), {
    journal,
    by: ["slack:T0ACME/U0ANN"],
    mappings: [toUse("slack")],
    vendors,
    log: silentLog,
    isDelivered: async () => false,
    ...changes,
  });
  return taken?.reason === `answered ${code}`;
}

test("an answer that keeps all rules counts", async () => {
  expect(await answer(await ask())).toBe(true);
});

test.each([
  ["the place of the question", [toUse("slack", ["C0OPS"]), toUse("other")]],
  ["all places", [toUse("slack", ["*"]), toUse("other", ["C0OTHER"])]],
  ["another place, but nobody else has the account", [toUse("slack", ["C0OTHER"]), toUse("eu", undefined, "slack:eu")]],
])("an answer through a use for %s counts", async (_, mappings) => {
  expect(await answer(await ask(), {}, { mappings })).toBe(true);
});

test("an answer after the question's time does not count", async () => {
  expect(await answer(await ask({ expiresAt: Date.now() - 1000 }))).toBe(false);
});

test.each([
  ["of a token", { credential: "token:default" }],
  ["of another sender", { credential: "auth:other" }],
])("a request %s is no answer", async (_, credential) => {
  const code = await ask();
  const options = { mappings: [{ ...credential, source: { id: "slack", preset: "slack", mapping: {} } }] };
  expect(await answer(code, {}, options)).toBe(false);
});

describe.each<[rule: string, event: object, parts: Partial<NewApproval>, changes: Partial<TakeOptions>]>([
  ["isApprover", { user: "U0EVE" }, {}, {}],
  ["isLater", { ts: "1700000000.000100" }, {}, {}],
  ["isInPlace", {}, {}, { mappings: [toUse("slack"), toUse("other")] }],
  ["isInPlace", {}, {}, { mappings: [toUse("slack", ["C0OTHER"]), toUse("other")] }],
  ["isWhole", {}, { onlyOnPage: true }, {}],
  ["isNotOurs", {}, {}, { isDelivered: async () => true }],
])("%s", (name, event, parts, changes) => {
  const rule = ANSWER_RULES[name];
  afterEach(() => {
    if (rule) ANSWER_RULES[name] = rule;
  });

  test("keeps an answer from counting", async () => {
    expect(rule).toBeDefined();
    expect(await answer(await ask(parts), event, changes)).toBe(false);
  });

  test("is what does it", async () => {
    ANSWER_RULES[name] = () => true;
    expect(await answer(await ask(parts), event, changes)).toBe(true);
  });
});

const BUTTON = "pB8cX0wq7R1nZ3yV5tK9mL2jH4gF6dSa";

/** Asks in Slack, with a button that approves. */
async function askWithButton(parts: Partial<NewApproval> = {}, at = journal): Promise<string> {
  const run = await claimRun(at);
  const { id: runId, eventId } = run;
  const question = sampleDelivery(runId, { eventId, channel: "slack", to: "C0OPS", isQuestion: true });
  const approval = await sampleApproval(at, run, { expiresAt: Date.now() + 60_000, ...parts, question });
  await at.holdRun(run, "approval", { asked: [approval], open: [], steps: [] });
  const [delivery] = await at.claimDeliveries(1, Date.now());
  await at.drawButtons(approval.id, [{ hash: toButtonHash(BUTTON), decision: "approve" }]);
  const route = { channel: "slack", to: "C0OPS" };
  const end = { state: "sent", at: Date.now(), route, partsSent: 1, messageId: "C0OPS:1.1" } as const;
  await at.finishDelivery(delivery!, end);
  return approval.id;
}

async function press(fields: object = {}, changes: Partial<PressOptions> = {}): Promise<string | undefined> {
  const payload = {
    type: "block_actions",
    user: { id: "U0ANN", team_id: "T0ACME" },
    container: { channel_id: "C0OPS", message_ts: "1.1" },
    actions: [{ value: `hookline:${BUTTON}` }],
    ...fields,
  };
  const taken = await takePress(toRequest("slack", payload, { credential: "auth:slack" }), {
    journal,
    by: ["slack:T0ACME/U0ANN"],
    mappings: [toUse("slack")],
    vendors,
    log: silentLog,
    ...changes,
  });
  return taken?.reason;
}

const COUNTS = /^answered \w{4}$/;

test("a press that keeps all rules counts, and no second one", async () => {
  await askWithButton();
  expect(await press()).toMatch(COUNTS);
  expect(await press()).toContain("which had ended: Approved by slack:T0ACME/U0ANN");
});

test("a press counts below a message whose record was lost, in the place of the question only", async () => {
  const id = await askWithButton();
  await journal.drawButtons(id, [{ hash: toButtonHash("of another attempt"), decision: "approve" }]);
  expect(await press({ container: { channel_id: "C0OTHER", message_ts: "2.2" } })).toContain("below another message");
  expect(await press({ container: { channel_id: "C0OPS", message_ts: "2.2" } })).toMatch(COUNTS);
  expect((await journal.getAsked(id))?.messageIds).toEqual(["C0OPS:1.1", "C0OPS:2.2"]);
});

test("a press after the question's time does not count", async () => {
  await askWithButton({ expiresAt: Date.now() - 1000 });
  expect(await press()).toContain("which had ended: Expired");
});

test.each([
  ["of a token", { credential: "token:default" }],
  ["of another sender", { credential: "auth:other" }],
])("a request %s is no press", async (_, credential) => {
  await askWithButton();
  const mappings = [{ ...credential, source: { id: "slack", preset: "slack", mapping: {} } }];
  expect(await press({}, { mappings })).toBeUndefined();
});

describe.each<[rule: string, fields: object, parts: Partial<NewApproval>, changes: Partial<PressOptions>]>([
  ["isApprover", { user: { id: "U0EVE", team_id: "T0ACME" } }, {}, {}],
  ["isApprover", { user: { id: "U0ANN", team_id: "T0EVIL" } }, {}, {}],
  ["isApprover", {}, {}, { by: [] }],
  ["isInPlace", {}, {}, { mappings: [toUse("slack"), toUse("other")] }],
  ["isInPlace", {}, {}, { mappings: [toUse("slack", ["C0OTHER"]), toUse("other")] }],
  ["isOurMessage", { container: { channel_id: "C0OPS", message_ts: "2.2" } }, {}, {}],
  ["isOurMessage", { container: { channel_id: "C0OTHER", message_ts: "1.1" } }, {}, {}],
  ["isOurMessage", {}, {}, { mappings: [toUse("slack", undefined, "slack:eu")], by: ["slack:eu:T0ACME/U0ANN"] }],
  ["isWhole", {}, { onlyOnPage: true }, {}],
])("%s of a press", (name, fields, parts, changes) => {
  const rule = PRESS_RULES[name];
  afterEach(() => {
    if (rule) PRESS_RULES[name] = rule;
  });

  test("keeps it from counting, and it is what does it", async () => {
    await askWithButton(parts);
    expect(await press(fields, changes)).toContain("it is a press that does not count");
    PRESS_RULES[name] = () => true;
    expect(await press(fields, changes)).toMatch(COUNTS);
  });
});

test("a hundred presses at once on two nodes are one decision, which releases the run once", async () => {
  const one = await openPostgres(folder);
  const two = await openPostgres(folder);
  await askWithButton({}, one);
  const pressed = await Promise.all(
    Array.from({ length: 100 }, (_, index) => press({}, { journal: index % 2 === 0 ? one : two })),
  );
  expect(pressed.filter((reason) => COUNTS.test(reason ?? ""))).toHaveLength(1);
  expect(await one.claimRuns(10, Date.now())).toHaveLength(1);
  expect(await two.claimRuns(10, Date.now())).toHaveLength(0);
  await Promise.all([one.close(), two.close()]);
});
