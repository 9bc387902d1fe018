/** The whole service while the provider of a model is unavailable: runs wait, over restarts, and nothing is lost. */
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { open as openSqlite } from "./contracts/journal/openers/sqlite.ts";
import { waitFor } from "./support/client.ts";
import { runWebhooks } from "./support/cli.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { openService, type Service, startService } from "./support/service.ts";
import { type SlackServer, startSlack } from "./support/vendors/slack.ts";

const MINUTE = 60_000;

let models: ModelServer;
let slack: SlackServer;
let service: Service;

beforeEach(async () => {
  [models, slack] = await Promise.all([startModels(), startSlack()]);
  service = await startService({ config: toConfig() });
});
afterEach(async () => {
  await service.close();
  await Promise.all([models.close(), slack.close()]);
});

function toConfig(): UserConfig {
  return {
    agents: {
      providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
      defaults: { model: "house/large", maxAttempts: 1 },
    },
    channels: { slack: { token: slack.token, baseUrl: slack.baseUrl } },
    alerts: [{ on: ["model-unavailable"], channel: "slack", to: slack.channel }],
  };
}

async function ask(message: string, sessionKey: string): Promise<string> {
  const to = { channel: "slack", to: slack.channel, wakeMode: "next-heartbeat" };
  return (await service.post("agent", { message, sessionKey, ...to })).body.eventId;
}

async function outcomes(): Promise<string[]> {
  return (await service.api("/api/events")).events.map(({ outcome }: { outcome: string }) => outcome);
}

/** Lets the outage of the run that waits have begun then. */
async function moveOutage(since: number): Promise<void> {
  await service.hookline.close();
  const journal = await openSqlite(path.join(service.folder, ".webhooks"));
  const [run] = await journal.claimRuns(1, Date.now() + 2 * MINUTE);
  await journal.giveBackRun(run!, Date.now(), { error: "overloaded", unavailableSince: since, waitingFor: "house" });
  await journal.close();
  service = await openService(service.folder);
}

test("an outage over two restarts: every run answers, once, and no attempt is lost", async () => {
  models.fail(529, "overloaded");
  const events = [await ask("one", "a"), await ask("two", "a"), await ask("three", "b"), await ask("four", "c")];
  const isWaiting = (outcome: string): boolean => outcome.startsWith("waiting for house: house answered 529");
  // The second of a session waits behind the first.
  const threeWait = async (): Promise<boolean> => (await outcomes()).filter(isWaiting).length === 3;
  await waitFor(threeWait, "three runs that wait");
  // A run that is tried again just now is running.
  const show = async (...args: string[]): Promise<string> =>
    (await runWebhooks(service.folder, "runs", ...args, "--url", service.url)).stdout;
  const waiting = /waiting for house: house answered 529/g;
  await waitFor(async () => (await show("list")).match(waiting)?.length === 3, "three runs in the list that wait");
  const [{ id }] = (await service.api(`/api/events/${events[0]}`)).runs;
  await waitFor(async () => /state +waiting for house/.test(await show("show", id)), "a shown run that waits");

  service = await service.restart();
  await waitFor(threeWait, "three runs that wait after a restart");
  service = await service.restart();
  models.reply("There again.");

  for (const eventId of events) {
    expect(await service.settled(eventId)).toMatchObject({
      status: "done",
      runs: [{ attempts: 1, reply: "There again." }],
      deliveries: [{ state: "sent" }],
    });
  }
  expect(await slack.messages()).toEqual(Array(4).fill("There again."));
});

test("after 30 minutes in all the run has failed, whatever attempts are left", async () => {
  models.fail(503, "down");
  const eventId = await ask("one", "a");
  await waitFor(async () => (await outcomes())[0]?.startsWith("waiting for house"), "a run that waits");
  await moveOutage(Date.now() - 30 * MINUTE);
  expect(await service.settled(eventId)).toMatchObject({
    status: "failed",
    runs: [
      { state: "failed", error: expect.stringMatching(/^house was unavailable for 30 minutes: house answered 503/) },
    ],
  });
});

test("a Retry-After is waited for", async () => {
  models.fail(429, "slow down", 600);
  const eventId = await ask("one", "a");
  await waitFor(async () => (await outcomes())[0]?.startsWith("waiting for house"), "a run that waits");
  const { runs } = await service.api(`/api/events/${eventId}`);
  expect(Date.parse(runs[0].dueAt) - Date.parse(runs[0].unavailableSince)).toBeGreaterThanOrEqual(600_000);
  expect(runs).toMatchObject([{ state: "waiting", attempts: 0, waitingFor: "house" }]);
});

test("an alert comes after five minutes, not before", async () => {
  models.fail(503, "down");
  await ask("one", "a");
  await waitFor(async () => (await outcomes())[0]?.startsWith("waiting for house"), "a run that waits");
  await moveOutage(Date.now() - 4 * MINUTE);
  await waitFor(async () => (await outcomes())[0]?.includes("house answered"), "another attempt");
  expect(await slack.messages()).toEqual([]);
  const since = Date.now() - 6 * MINUTE;
  await moveOutage(since);
  await expect
    .poll(() => slack.messages(), { timeout: 120_000 })
    .toEqual([
      `Runs are waiting for house since ${new Date(since).toISOString()}: it is overloaded or cannot be reached. See: npx hookline runs list --state waiting`,
    ]);
});
