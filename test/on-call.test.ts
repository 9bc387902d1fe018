/** The worked example transforms/on-call.ts: three senders, one session for each incident. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { createChatMessages } from "./support/chat-messages.ts";
import { type Service, startService } from "./support/service.ts";
import { startSlack } from "./support/vendors/slack.ts";

const folder = path.join(import.meta.dirname, "../transforms");
const read = (name: string) => readFileSync(path.join(folder, name), "utf8");
const mapping = JSON.parse(read("on-call.mapping.json"));

let service: Service;
afterEach(() => service.close());

type Json = ReturnType<typeof JSON.parse>;

/** Posts a sample with changes, and gives the action that it led to; undefined: none. */
async function report(sample: string, change: (payload: Json) => object = (payload) => payload) {
  const payload = change(JSON.parse(read(`on-call.samples/${sample}.json`)));
  const response = await service.post("on-call", payload);
  if (response.status === 204) return undefined;
  const { eventId, coalesced, runId } = response.body;
  const [{ action }] = (await service.api(`/api/events/${eventId}`)).runs;
  return { coalesced, runId, sessionKey: action.sessionKey, wakeMode: action.wakeMode, message: action.message };
}

const resolved = (payload: object) => ({ ...payload, status: "resolved" });

test("all reports about a service are one session until all of them are over", async () => {
  service = await startService({
    config: { hooks: { transformsDir: folder, mappings: [{ ...mapping, id: "on-call" }] } },
  });
  const warning = await report("grafana-warning");
  expect(warning).toMatchObject({ wakeMode: "next-heartbeat", message: expect.stringMatching(/^New incident/) });
  const { sessionKey } = warning!;

  const critical = await report("alertmanager-critical");
  expect(critical).toMatchObject({ sessionKey, wakeMode: "now", message: expect.stringMatching(/^Same incident/) });
  expect(await report("pagerduty-triggered")).toMatchObject({ sessionKey, wakeMode: "next-heartbeat" });
  expect(await report("pagerduty-acknowledged")).toBeUndefined();

  // Noise joins the run that still waits; the critical report did not wait.
  const noise = await report("grafana-warning", (payload) => ({ ...payload, groupKey: "another" }));
  expect(noise).toMatchObject({ coalesced: true, runId: warning!.runId, sessionKey });
  expect(critical).toMatchObject({ coalesced: undefined });

  const other = await report("alertmanager-critical", (payload) => ({
    ...payload,
    commonLabels: { service: "search", severity: "critical" },
    groupKey: "search",
  }));
  expect(other!.sessionKey).toMatch(/^incident:search:/);

  expect(await report("alertmanager-critical", resolved)).toMatchObject({
    sessionKey,
    wakeMode: "next-heartbeat",
    message: expect.stringMatching(/^Same incident of checkout: Alertmanager says resolved/),
  });
  await report("grafana-warning", resolved);
  await report("grafana-warning", (payload) => ({ ...resolved(payload), groupKey: "another" }));
  const over = await report("pagerduty-triggered", ({ event }) => ({
    event: { ...event, id: "2", event_type: "incident.resolved" },
  }));
  expect(over).toMatchObject({ sessionKey, message: expect.stringMatching(/^The incident is over/) });

  const next = await report("alertmanager-critical", (payload) => ({ ...payload, alerts: [] }));
  expect(next).toMatchObject({ wakeMode: "now", message: expect.stringMatching(/^New incident/) });
  expect(next!.sessionKey).not.toBe(sessionKey);
});

test("each incident has one thread, and a question in it goes to the agent that knows the incident", async () => {
  const slack = await startSlack();
  const secret = "the-signing-secret-of-the-app";
  service = await startService({
    config: {
      channels: { slack: { token: slack.token, baseUrl: slack.baseUrl } },
      hooks: {
        transformsDir: folder,
        presets: [{ use: "slack", with: { secret, channel: "source", wakeMode: "next-heartbeat" } }],
        mappings: [{ ...mapping, id: "on-call", coalesce: undefined, channel: "slack", to: slack.channel }],
      },
    },
  });
  const places = { secret, slackChannel: slack.channel, telegramChat: "1", issue: "acme/app#1" };
  const chat = createChatMessages(
    () => service,
    () => places,
  );
  const sessions = new Set<string>();
  for (const sample of ["grafana-warning", "alertmanager-critical", "pagerduty-triggered"]) {
    sessions.add((await report(sample))!.sessionKey);
    const [{ id }] = (await service.api("/api/events?hook=on-call&limit=1")).events;
    await service.settled(id);
  }
  const [sessionKey = ""] = sessions;
  expect(sessions.size).toBe(1);
  const { threads } = await service.api(`/api/sessions/${encodeURIComponent(sessionKey)}`);
  const [, ts] = threads[0].thread.split(":");
  expect(await slack.thread(ts)).toHaveLength(3);
  await chat.inSlack({ text: "Since when?", thread_ts: ts });
  const [{ id, actions }] = (await service.api("/api/events?hook=slack&limit=1")).events;
  expect(actions).toMatchObject([{ sessionKey }]);
  await service.settled(id);
  expect(await slack.thread(ts)).toHaveLength(4);
  await slack.close();
});
