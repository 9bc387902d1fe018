/** Each rule of an answer is needed: without it, an answer counts that must not. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ANSWER_RULES, takeAnswer, type TakeOptions } from "../../src/core/approvals/chat-answer.ts";
import { compilePlaces } from "../../src/core/mapping/policy/bounds.ts";
import type { Journal, NewApproval } from "../../src/core/journal/journal.ts";
import { claimRun } from "../contracts/journal/lost-claims.ts";
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
