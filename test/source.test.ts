/** The reply goes to the place that the event names. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { findProblems } from "./support/config.ts";
import { type Service, startService } from "./support/service.ts";
import { type SlackServer, startSlack } from "./support/vendors/slack.ts";

let slack: SlackServer;
let service: Service;
beforeAll(async () => {
  slack = await startSlack();
});
afterAll(() => slack.close());

const mapping = {
  id: "m",
  match: { path: "m" },
  messageTemplate: "{{text}}",
  agent: "none",
  wakeMode: "next-heartbeat",
  channel: "source",
  source: { channel: "slack", to: "{{place}}" },
} as const;

function config(block: object = {}, more: UserConfig = {}): UserConfig {
  return {
    hooks: { mappings: [mapping] },
    channels: { slack: { token: slack.token, baseUrl: slack.baseUrl, ...block } },
    ...more,
  };
}

beforeEach(async () => {
  service = await startService({ config: config() });
});
afterEach(() => service.close());

async function send(payload: object) {
  const answer = await service.post("m", payload);
  const event = answer.status === 202 ? await service.settled(answer.body.eventId) : undefined;
  return { ...answer, event };
}

test("a reply goes to the place of its event, which does not become the last route", async () => {
  const { event } = await send({ text: "to the source", place: slack.channel });
  expect(event.deliveries).toMatchObject([{ state: "sent", route: { channel: "slack", to: slack.channel } }]);
  expect(await slack.messages()).toContain("to the source");
  const other = await service.post("agent", { message: "to the last", agent: "none" });
  expect((await service.settled(other.body.eventId)).deliveries).toMatchObject([{ state: "skipped" }]);
});

test("an event without a place has no delivery, and the answer says so", async () => {
  const { body, event } = await send({ text: "nowhere" });
  expect(body.warnings).toEqual(["The event names no place for a reply: it will not be delivered."]);
  expect(event).toMatchObject({ status: "done", deliveries: [] });
});

const NOT_DELIVERED = "The reply will not be delivered: ";
const NOT_ALLOWED = "to is not among the recipients of channels.slack.allow.";

test("a recipient of the payload's choice must be one that the channel's block allows", async () => {
  await service.reload(config({ allow: ["C0BUILDS*"] }));
  const refused = { status: 400, body: { error: NOT_ALLOWED } };
  expect(await service.post("agent", { message: "no", channel: "slack", to: "D1" })).toMatchObject(refused);
  expect((await send({ text: "yes", place: "C0BUILDS1" })).body.warnings).toBeUndefined();
});

describe("an event runs without a delivery, and the answer says so, if its place", () => {
  test.each([
    ["is not allowed", { allow: ["C0BUILDS*"] }, "C0123456789", NOT_ALLOWED],
    ["is none that the channel knows", {}, "no place", /^to is not a recipient on slack\. /],
  ])("%s", async (_why, block, place, reason) => {
    await service.reload(config(block));
    const { status, body, event } = await send({ text: "x", place });
    const warning = body.warnings[0].replace(NOT_DELIVERED, "");
    expect([status, warning]).toEqual([202, typeof reason === "string" ? reason : expect.stringMatching(reason)]);
    expect(event).toMatchObject({ status: "done", warnings: body.warnings, deliveries: [] });
  });

  test.each(["discord", "no such channel"])("is on a channel that is not configured: %s", async (channel) => {
    const source = { channel: "{{channel}}", to: "{{place}}" };
    await service.reload(config({}, { hooks: { mappings: [{ ...mapping, source }] } }));
    const { status, body, event } = await send({ text: "x", place: "1", channel });
    expect([status, event.deliveries]).toEqual([202, []]);
    expect(body.warnings).toEqual([expect.stringMatching(/^The reply will not be delivered: .*channel/)]);
  });
});

describe("a trial has the credential of its mapping", () => {
  // GitHub's channel writes only where a verified event is, or where its block allows.
  const auth = { scheme: "token", secret: "a-secret-of-the-sender-0123456789" };
  const signed = { ...mapping, auth, source: { channel: "github", to: "{{place}}" } };
  const place = "acme/shop#7";

  test.each([
    ["of a signed mapping", signed, undefined],
    ["of a signed mapping that is being changed", signed, { id: "m", name: "New" }],
  ])("%s", async (_which, written, draft) => {
    await service.reload(config({}, { hooks: { mappings: [written] }, channels: { github: { token: "t" } } }));
    const trial = await service.try("m", { text: "x", place }, {}, draft);
    expect(trial).toMatchObject({ ok: true, actions: [{ deliver: true, channel: "github", to: place }], warnings: [] });
  });

  test("of one for tokens", async () => {
    const { auth: _, ...open } = signed;
    await service.reload(config({}, { hooks: { mappings: [open] }, channels: { github: { token: "t" } } }));
    expect(await service.try("m", { text: "x", place })).toMatchObject({
      actions: [{ deliver: false }],
      warnings: [`${NOT_DELIVERED}to is not among the recipients of channels.github.allow.`],
    });
  });
});

test("a thread is as allowed as its channel, and its session's next reply replaces the first one there", async () => {
  const ts = await slack.post("A question.");
  const place = `${slack.channel}:${ts}`;
  const replacing = { ...mapping, sessionKey: "s", update: true };
  await service.reload(config({ allow: [slack.channel] }, { hooks: { mappings: [replacing] } }));
  expect((await send({ text: "It is **here**", place })).event.deliveries).toMatchObject([{ state: "sent" }]);
  expect(await slack.thread(ts)).toEqual(["A question.", "It is *here*"]);
  await send({ text: "It was _there_", place });
  expect(await slack.thread(ts)).toEqual(["A question.", "It was _there_"]);
});

test("a dry run records what would have been sent", async () => {
  await service.reload(config({ dryRun: true }));
  const { event } = await send({ text: "dry", place: slack.channel });
  const error = `dry run: would have been sent to ${slack.channel}`;
  expect(event.deliveries).toMatchObject([{ state: "skipped", text: "dry", error }]);
  expect(await slack.messages()).not.toContain("dry");
});

describe("a configuration", () => {
  const errors = async (change: object) =>
    (await findProblems({ hooks: { mappings: [{ ...mapping, ...change }] }, channels: { slack: { token: "x" } } }))
      .errors;

  test("names a source whose channel is configured", async () => {
    expect(await errors({})).toEqual([]);
    expect(await errors({ source: undefined })).toEqual([
      'hooks.mappings[0].channel: The channel is "source", but none is set. Add source: { channel, to }.',
    ]);
    expect(await errors({ source: { channel: "discord", to: "1" } })).toEqual([
      'hooks.mappings[0].channel: The source is on the channel "discord", which is not configured: add a channels.discord block.',
    ]);
    expect(await errors({ source: { channel: "slakc", to: "1" } })).toEqual([
      'hooks.mappings[0].source.channel: There is no channel "slakc"; did you mean "slack"?',
    ]);
    expect(await errors({ channel: "last", source: { channel: "discord", to: "1" } })).toEqual([]);
  });
});
