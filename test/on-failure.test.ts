/** The text for the place of an event when its run has failed. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MappingInput } from "../src/core/config/schema/generated.ts";
import { runWebhooks } from "./support/cli.ts";
import { findProblems } from "./support/config.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { type Service, startService } from "./support/service.ts";
import { type SlackServer, startSlack } from "./support/vendors/slack.ts";

const NOTICE = "No answer this time: a person will look at it. {{payload.text}}";
const mapping: MappingInput = {
  match: { path: "ask" },
  messageTemplate: "{{text}}",
  sessionKey: "ask",
  wakeMode: "next-heartbeat",
  channel: "source",
  source: { channel: "slack", to: "{{place}}" },
  onFailure: NOTICE,
};

let models: ModelServer;
let slack: SlackServer;
let service: Service;
let thread: string;

beforeEach(async () => {
  [models, slack] = await Promise.all([startModels(), startSlack()]);
  thread = await slack.post("A question.");
});
afterEach(async () => {
  await service.close();
  await Promise.all([models.close(), slack.close()]);
});

async function start(change: MappingInput = {}, store?: { url: string }): Promise<void> {
  service = await startService({
    config: {
      agents: {
        providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
        defaults: { model: "house/large", maxAttempts: 1 },
      },
      channels: { slack: { token: slack.token, baseUrl: slack.baseUrl, allow: [slack.channel] } },
      hooks: { mappings: [{ ...mapping, ...change }] },
      store,
    },
  });
}

async function ask(text: string) {
  const { body } = await service.post("ask", { text, place: `${slack.channel}:${thread}` });
  return service.settled(body.eventId);
}

async function retry(eventId: string): Promise<void> {
  const { code } = await runWebhooks(service.folder, "dead-letters", "retry", eventId, "--url", service.url);
  expect(code).toBe(0);
}

describe.each(["sqlite", "postgres"])("with a journal in %s", (store) => {
  const startHere = async (change?: MappingInput): Promise<void> =>
    start(change, store === "postgres" ? { url: await createPostgresUrl() } : undefined);

  test("the place gets the operator's words once, not the error's, and a retry's reply replaces them", async () => {
    await startHere();
    models.fail(400, "secret words of the error");
    const { id, status, runs } = await ask("one");
    expect({ status, state: runs[0].state }).toEqual({ status: "failed", state: "failed" });
    await expect.poll(() => slack.thread(thread)).toEqual(["A question.", NOTICE]);

    // Another event of the session is answered in between: its reply stays.
    models.reply("The second answer.");
    await ask("two");

    models.fail(400, "again");
    await retry(id);
    await expect.poll(async () => (await service.api(`/api/events/${id}`)).runs[0].error).toContain("again");
    expect(await slack.thread(thread)).toEqual(["A question.", NOTICE, "The second answer."]);

    models.reply("The first answer.");
    await retry(id);
    await expect.poll(() => slack.thread(thread)).toEqual(["A question.", "The first answer.", "The second answer."]);
    expect((await service.settled(id)).status).toBe("done");
  });

  test("with update the retry's reply replaces the notice, not the reply of another event", async () => {
    await startHere({ update: true });
    models.fail(400, "no");
    const { id } = await ask("one");
    await expect.poll(() => slack.thread(thread)).toEqual(["A question.", NOTICE]);
    models.reply("The first answer.");
    await retry(id);
    await expect.poll(() => slack.thread(thread)).toEqual(["A question.", "The first answer."]);
  });
});

test("without delivery nobody gets a message", async () => {
  await start({ deliver: false });
  models.fail(400, "no");
  expect(await ask("one")).toMatchObject({ status: "failed", deliveries: [] });
});

test("only the place of the event gets a message", async () => {
  await start({ channel: undefined, deliver: [{ channel: "slack", to: slack.channel }, { channel: "source" }] });
  models.fail(400, "no");
  const event = await ask("one");
  expect(event.deliveries).toMatchObject([{ text: NOTICE, to: `${slack.channel}:${thread}`, isNotice: true }]);
});

test("it is only for the channel source", async () => {
  await start();
  const problem =
    'hooks.mappings[0].onFailure: This text goes to the place of the event. Set the channel "source", or remove it.';
  const channels = { slack: { token: "x" } };
  const find = async (change: MappingInput) =>
    (await findProblems({ hooks: { mappings: [{ ...mapping, ...change }] }, channels })).errors;
  expect(await find({ channel: "slack", to: "C1" })).toEqual([problem]);
  expect(await find({})).toEqual([]);
});
