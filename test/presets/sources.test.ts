/** With the channel source, the reply goes to the issue, merge request or incident that the sample is about. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { usePreset } from "../support/preset.ts";

const presets = path.join(import.meta.dirname, "../../presets");

test.each([
  ["gitlab", "merge-request-open", "acme/shop!42"],
  ["gitlab", "merge-request-comment", "acme/shop!42"],
  ["gitlab", "issue-open", "acme/shop#37"],
  ["gitlab", "issue-comment", "acme/shop#37"],
  ["gitlab", "push-to-main", undefined],
  ["gitea", "issue-comment", "acme/shop#37"],
  ["gitea", "pull-request-opened", "acme/shop#42"],
  ["gitea", "release-published", undefined],
  ["jira", "issue-created", "SHOP-42"],
  ["jira", "comment-created", "SHOP-42"],
  ["jira", "comment-internal", "SHOP-42/internal"],
  ["jira", "data-center-comment", "SHOP-42"],
  ["jira", "comment-without-issue", undefined],
  ["linear", "issue-create", "SHOP-42"],
  ["linear", "issue-assigned", "SHOP-42"],
  ["linear", "sla-breached", "SHOP-42"],
  ["linear", "customer-request", "SHOP-42"],
  ["linear", "comment-create", "SHOP-42/c000001f4-2222-4333-8444-555566667777"],
  ["linear", "agent-session-created", "SHOP-42/s00000321-2222-4333-8444-555566667777"],
  ["linear", "project-update", undefined],
  ["pagerduty", "incident-triggered", "Q1CHECKOUT"],
  ["pagerduty", "note", "Q1CHECKOUT"],
  ["sentry", "comment", "4501"],
  ["sentry", "issue-alert", "4501"],
  ["sentry", "issue-created", "4501"],
  ["sentry", "metric-critical", undefined],
  ["notion", "comment-created", "comment/000001f5-477e-80e1-8571-cfd10e92339a"],
  ["notion", "page-created", "0000002a-477e-80e1-8571-cfd10e92339a"],
  ["bitbucket", "pull-request-created", "acme/shop!42"],
  ["bitbucket", "pull-request-comment", "acme/shop!42/c20576503"],
  ["bitbucket", "issue-comment", "acme/shop#37"],
  ["bitbucket", "push-to-main", undefined],
  ["bitbucket", "data-center-comment", undefined],
  ["zendesk", "comment-added", "5158"],
  ["zendesk", "ticket-created", "5158"],
  ["zendesk", "chat-message", "141"],
  ["zendesk", "of-a-trigger", "5158"],
  ["chatwoot", "message", "3/42"],
  ["chatwoot", "resolved", "3/42"],
])("%s %s", async (preset, sample, to) => {
  const token = "t";
  const channels = {
    gitlab: { token },
    gitea: { token, baseUrl: "https://git.example.com" },
    linear: { token },
    jira: { token, baseUrl: "https://acme.atlassian.net" },
    pagerduty: { token, from: "agent@acme.test" },
    sentry: { token, organization: "acme" },
    notion: { token },
    bitbucket: { token },
    zendesk: { token, subdomain: "acme" },
    chatwoot: { token },
  };
  const read = (name: string): unknown => JSON.parse(readFileSync(path.join(presets, preset, "samples", name), "utf8"));
  const post = await usePreset(preset, { channel: "source" }, channels);
  const hasHeaders = existsSync(path.join(presets, preset, "samples", `${sample}.request.json`));
  const request = hasHeaders
    ? (read(`${sample}.request.json`) as { headers: Record<string, string> })
    : { headers: {} };
  const { actions } = await post(read(`${sample}.json`), lowerKeys(request.headers));
  expect(actions).toMatchObject([to ? { channel: preset, to, deliver: true } : { deliver: false }]);
});

function lowerKeys(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

test.each([
  ["zendesk", "comment-added", { subdomain: "acme" }, "5158"],
  ["chatwoot", "message", {}, "3/42"],
])("%s answers the customer only if reply says so, in a public place", async (preset, sample, block, to) => {
  const payload: unknown = JSON.parse(readFileSync(path.join(presets, preset, "samples", `${sample}.json`), "utf8"));
  const placeOf = async (options: object) => {
    const post = await usePreset(preset, { channel: "source", ...options }, { [preset]: { token: "t", ...block } });
    return (await post(payload)).actions;
  };
  expect(await placeOf({})).toMatchObject([{ to, isPrivate: true }]);
  expect(await placeOf({ reply: "note" })).toMatchObject([{ to }]);
  expect(await placeOf({ reply: "public" })).toMatchObject([{ to: `public:${to}`, isPrivate: undefined }]);
});
