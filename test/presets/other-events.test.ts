/** Events that lead to an action only if `events` names them: the message says what they are about, and so does the subject. */
import { expect, test } from "vitest";
import type { AgentAction } from "../../src/core/types.ts";
import { usePreset } from "../support/preset.ts";

const slack = (event: object) => ({ type: "event_callback", team_id: "T1", event_id: "E1", event });
const linear = (type: string, action: string, data: object, more: object = {}) => ({
  type,
  action,
  data,
  actor: { name: "Ann" },
  ...more,
});
const jira = (webhookEvent: string, rest: object) => ({ webhookEvent, timestamp: 1, ...rest });

const stripe = (type: string, object: object, more: object = {}) => ({
  id: "evt_1",
  type,
  livemode: true,
  data: { object },
  ...more,
});
const intercom = (topic: string, item: object) => ({ topic, id: "n1", app_id: "a1", data: { item } });
const zendesk = (type: string, detail: object, event: object) => ({
  type: `zen:event-type:${type}`,
  id: "z1",
  detail,
  event,
});
const declined = {
  message: "Declined.",
  decline_code: "do_not_honor",
  payment_method: { card: { brand: "visa", last4: "0002" } },
};

test.each<[string, object, string, string]>([
  [
    "stripe",
    stripe("setup_intent.setup_failed", { object: "setup_intent", id: "seti_1", last_setup_error: declined }),
    "Failure: Declined. (do_not_honor)\nCard: visa ending in 0002",
    "seti_1",
  ],
  [
    "stripe",
    stripe("identity.verification_session.requires_input", {
      object: "identity.verification_session",
      id: "vs_1",
      last_error: { code: "document_expired", reason: "It is expired." },
    }),
    "Failure: It is expired. (document_expired)",
    "vs_1",
  ],
  [
    "stripe",
    stripe("reporting.report_run.failed", { object: "reporting.report_run", id: "frr_1", error: "No data" }),
    "Failure: No data",
    "frr_1",
  ],
  [
    "stripe",
    stripe("customer.source.expiring", {
      object: "card",
      id: "card_1",
      brand: "Visa",
      last4: "4242",
      exp_month: 12,
      exp_year: 2026,
    }),
    "Card: Visa ending in 4242, until 12/2026",
    "card_1",
  ],
  [
    "stripe",
    stripe("account.updated", {
      object: "account",
      id: "acct_1",
      email: "ann@example.com",
      charges_enabled: false,
      payouts_enabled: true,
      requirements: { currently_due: ["external_account"], disabled_reason: "rejected.other" },
    }),
    "Account: ann@example.com, charges off, payouts on\nRequired: external_account\nDisabled because: rejected.other",
    "acct_1",
  ],
  [
    "stripe",
    stripe("payout.paid", { object: "payout", id: "po_1" }, { account: "acct_2" }),
    "Connected account: acct_2",
    "po_1",
  ],
  [
    "stripe",
    stripe("balance.available", { object: "balance", available: [{ amount: 100, currency: "usd" }] }),
    "Available: 1.00 USD",
    "balance",
  ],
  [
    "stripe",
    stripe("billing.alert.triggered", { object: "billing.alert_triggered", alert: { title: "Usage" }, value: 120 }),
    "Alert: Usage, at 120",
    "alert",
  ],
  ["stripe", stripe("promotion_code.created", { object: "promotion_code", id: "p", code: "SAVE" }), "Code: SAVE", "p"],
  ["stripe", stripe("file.created", { object: "file", id: "f", filename: "a.pdf" }), "File: a.pdf", "f"],
  ["stripe", stripe("product.created", { object: "product", id: "p", name: "Tea" }), "Name: Tea", "p"],

  ["slack", slack({ type: "emoji_changed", subtype: "add", name: "party" }), "name: party", "emoji_changed"],
  ["slack", slack({ type: "subteam_created", subteam: { id: "S1", handle: "core" } }), "core", "subteam_created"],
  [
    "slack",
    slack({ type: "message_metadata_posted", channel_id: "C1", metadata: { event_type: "task" } }),
    'metadata: {"event_type":"task"}',
    "message_metadata_posted",
  ],
  ["slack", slack({ type: "team_join", user: { id: "U9", name: "zoe", profile: {} } }), "<@U9>", "zoe: team_join"],
  [
    "intercom",
    intercom("event.created", {
      type: "event",
      event_name: "ordered",
      email: "zoe@example.com",
      metadata: { price: 4 },
    }),
    "Event: ordered\nprice: 4",
    "zoe@example.com",
  ],
  [
    "intercom",
    intercom("admin.added_to_workspace", { type: "admin", admin: { name: "Ann", email: "ann@example.com" } }),
    "Teammate: Ann <ann@example.com>",
    "Ann",
  ],
  [
    "zendesk",
    zendesk("article.published", { id: "3" }, { title: "How to", locale: "en" }),
    "#3: How to\n\nlocale: en",
    "How to",
  ],
  ["zendesk", zendesk("community_post.created", { id: "4" }, { title: "Why", body: "Because" }), "\n\nBecause", "Why"],
  [
    "zendesk",
    zendesk(
      "ticket.custom_field_changed",
      { id: "5", subject: "Help" },
      { current: "x", previous: "y", field: { title: "Plan" } },
    ),
    'field: {"title":"Plan"}',
    "Help",
  ],
  [
    "calendly",
    { event: "invitee_no_show.created", payload: { uri: "https://c.example/n/1", invitee: "https://c.example/i/1" } },
    "Invitee: https://c.example/i/1",
    "",
  ],
  [
    "telegram",
    {
      update_id: 1,
      shipping_query: {
        from: { first_name: "Zoe" },
        invoice_payload: "tea",
        shipping_address: { street_line1: "Lane 1", post_code: "10115", city: "Berlin", country_code: "DE" },
      },
    },
    "For: tea\nShip to: Lane 1, 10115 Berlin, DE",
    "Zoe",
  ],
  [
    "telegram",
    { update_id: 2, deleted_business_messages: { chat: { id: 5, first_name: "Zoe" }, message_ids: [1, 2] } },
    "Messages: 1, 2",
    "Zoe",
  ],
  [
    "telegram",
    { update_id: 3, business_connection: { id: "b", user: { first_name: "Zoe" }, is_enabled: false } },
    "Enabled: false",
    "Zoe",
  ],
  [
    "discord",
    {
      t: "MESSAGE_REACTION_ADD",
      d: { user_id: "5", channel_id: "1", message_id: "2", guild_id: "3", emoji: { name: "up" } },
    },
    "Channel 1, message 2\nhttps://discord.com/channels/3/1/2\n\nReaction: up",
    "5",
  ],
  ["shopify", { id: 1, first_name: "Zoe", email: "zoe@example.com" }, "customers create", "zoe@example.com"],
  ["linear", linear("Document", "create", { id: "d", title: "Spec", project: { name: "Launch" } }), "Spec\n", "Spec"],
  [
    "linear",
    linear("Attachment", "create", {
      id: "a",
      title: "PR 4",
      url: "https://a.example/4",
      issue: { identifier: "E-1" },
    }),
    "Attachment: PR 4 https://a.example/4",
    "E-1",
  ],
  [
    "linear",
    linear("Project", "update", { id: "p", name: "Launch" }, { updatedFrom: { targetDate: "2026-11-01" } }),
    "Changed: targetDate, before: 2026-11-01",
    "Launch",
  ],
  [
    "linear",
    linear("Cycle", "create", { id: "c", number: 12, startsAt: "2026-11-01", endsAt: "2026-11-14" }),
    "Cycle 12: 2026-11-01 to 2026-11-14",
    "12",
  ],
  ["linear", linear("AuditEntry", "create", { id: "a", type: "login", ip: "192.0.2.1" }), "Entry: login", "login"],
  [
    "linear",
    { type: "PermissionChange", action: "teamAccessChanged", addedTeamIds: ["t1"] },
    "permission change\n\nTeams added: t1",
    "",
  ],
  ["jira", jira("issuetype_created", { issuetype: { name: "Epic" } }), "Epic", "Epic"],
  [
    "jira",
    jira("option_voting_changed", { property: { key: "voting", value: "true" } }),
    "Property: voting = true",
    "",
  ],
  ["jira", jira("user_created", { user: { displayName: "Zoe" } }), "user created: Zoe", "Zoe"],
  [
    "jira",
    jira("sprint_updated", { sprint: { id: 1, name: "S1", startDate: "2026-11-01", endDate: "2026-11-14" } }),
    "Time: 2026-11-01 to 2026-11-14",
    "S1",
  ],
  ["gitlab", { event_name: "project_create", path_with_namespace: "acme/new" }, "acme/new", "acme/new"],
  ["gitlab", { event_name: "user_add_to_group", group_name: "web", user_username: "zoe" }, "zoe", "web"],
])("%s: %j", async (preset, payload, message, subject) => {
  const post = await usePreset(preset, { events: ["*"] });
  const { actions, subject: shown } = await post(payload, {
    "x-gitlab-event": "Hook",
    "x-shopify-topic": "customers/create",
  });
  const [action] = actions as AgentAction[];
  expect(action?.message).toContain(message);
  expect(action?.message).not.toMatch(/undefined|\[object |\n\n\n|[:,] \n/);
  expect(shown ?? "").toContain(subject);
});
