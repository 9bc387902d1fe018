/** Events that belong together are one session, and no others are. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { usePreset } from "../support/preset.ts";

function sample(preset: string, name: string) {
  return JSON.parse(readFileSync(new URL(`../../presets/${preset}/samples/${name}.json`, import.meta.url), "utf8"));
}

async function sessionsOf(preset: string, payloads: readonly unknown[]): Promise<unknown[]> {
  const hasEvents = !["argocd", "flux"].includes(preset);
  const send = await usePreset(preset, hasEvents ? { events: ["*"] } : {});
  const results = await Promise.all(payloads.map((payload) => send(payload)));
  return results.flatMap(({ actions }) => actions.map((action) => action.kind === "agent" && action.sessionKey));
}

const argocd = sample("argocd", "sync-failed");
const flux = sample("flux", "health-check-failed");
const newrelic = sample("newrelic", "activated");
const { id: _, ...withoutId } = newrelic;
const vercel = sample("vercel", "deployment-error");
const production = { ...vercel, payload: { ...vercel.payload, target: "production" } };
const chatwoot = sample("chatwoot", "message");
const [deal] = sample("hubspot", "deal-stage");
const message = sample("googlechat", "mention");

test.each<[string, string, unknown[]]>([
  ["argocd", "an application", [argocd, sample("argocd", "health-degraded"), sample("argocd", "deployed")]],
  ["flux", "an object", [flux, sample("flux", "applied")]],
  ["newrelic", "an issue, also in a template without its id", [newrelic, sample("newrelic", "closed"), withoutId]],
  [
    "calendly",
    "a booking, also if it is moved",
    ["booked", "moved-new", "canceled", "no-show"].map((name) => sample("calendly", name)),
  ],
  ["intercom", "a conversation", ["user-created", "user-replied", "rating"].map((name) => sample("intercom", name))],
  [
    "chatwoot",
    "a conversation",
    [chatwoot, sample("chatwoot", "resolved"), sample("chatwoot", "conversation-created")],
  ],
  [
    "hubspot",
    "an object, in both formats",
    [[deal], [{ ...deal, subscriptionType: "object.creation", objectTypeId: "0-3" }]],
  ],
  [
    "googlechat",
    "a thread, also in the format of add-ons",
    [message, sample("googlechat", "add-on"), sample("googlechat", "add-on-command")],
  ],
  ["vercel", "the production of a project", [production, sample("vercel", "rollback")]],
  [
    "resend",
    "a mail",
    [sample("resend", "bounced"), { type: "email.complained", data: sample("resend", "bounced").data }],
  ],
])("%s: %s is one session", async (preset, _name, payloads) => {
  const sessions = await sessionsOf(preset, payloads);
  expect(sessions).toHaveLength(payloads.length);
  expect(new Set(sessions).size).toBe(1);
});

test.each<[string, unknown[]]>([
  ["argocd", [argocd, { app: { ...argocd.app, metadata: { ...argocd.app.metadata, uid: "another" } } }]],
  ["flux", [flux, { ...flux, involvedObject: { ...flux.involvedObject, uid: "another" } }]],
  ["newrelic", [newrelic, { ...newrelic, id: "another" }]],
  ["calendly", [sample("calendly", "booked"), sample("calendly", "partial"), sample("calendly", "routing-form")]],
  [
    "intercom",
    [sample("intercom", "user-created"), sample("intercom", "ticket-created"), sample("intercom", "version-1")],
  ],
  ["chatwoot", [chatwoot, { ...chatwoot, inbox: { id: 6 } }, { ...chatwoot, conversation: { id: 43 } }]],
  [
    "hubspot",
    [
      [deal],
      [{ ...deal, subscriptionType: "ticket.propertyChange" }],
      [{ ...deal, portalId: 1 }],
      [{ ...deal, objectId: 1 }],
    ],
  ],
  ["googlechat", [message, sample("googlechat", "direct-message"), sample("googlechat", "bare")]],
  ["typeform", [sample("typeform", "contact-form"), sample("typeform", "without-definition")]],
  ["vercel", [vercel, production, sample("vercel", "certificate-failed"), sample("vercel", "firewall-attack")]],
  ["resend", [sample("resend", "received"), sample("resend", "bounced"), sample("resend", "domain-updated")]],
])("%s: what is about something else is another session", async (preset, payloads) => {
  const sessions = await sessionsOf(preset, payloads);
  expect(sessions).toHaveLength(payloads.length);
  expect(sessions).toEqual([...new Set(sessions)]);
});
