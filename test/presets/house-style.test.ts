/** One style for all presets: what they say, and how people find them. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { findSamples } from "../../src/service/authoring/sample.ts";
import { explainMissing, findPresets, PRESETS_FOLDER, readPreset } from "../../src/core/config/presets/file.ts";
import { isObject } from "../../src/core/shared/json.ts";
import { usePreset } from "../support/preset.ts";

const search = { baseDir: PRESETS_FOLDER, vendors: {} };

test.each([
  ["ms-teams", "teams"],
  ["MS-Teams", "teams"],
  ["forgejo", "gitea"],
  ["forgjo", "gitea"],
  ["gogs", "gitea"],
  ["cloudwatch", "sns"],
  ["github-actions", "github"],
  ["githup", "github"],
])("%s: did you mean %s?", (given, meant) => {
  expect(explainMissing(given, search)).toBe(`There is no preset "${given}"; did you mean "${meant}"?`);
});

test("no alias is the name or the alias of another preset", () => {
  const names = findPresets();
  const all = names.flatMap((name) => [name, ...(readPreset(name).preset.aliases ?? [])]);
  expect(all).toEqual([...new Set(all)]);
});

/** Every text under the key `instructions`. */
function listInstructions(part: unknown): string[] {
  if (Array.isArray(part)) return part.flatMap(listInstructions);
  if (!isObject(part)) return [];
  return Object.entries(part).flatMap(([key, value]) =>
    key === "instructions" && typeof value === "string" ? [value] : listInstructions(value),
  );
}

/** An operator replaces instructions as a whole. A fact in them would be lost: it belongs into the message. */
const ASKS =
  /^(?:Answer|Do|Fetch|Find|Follow|If|Keep|Look|Note|Of a new incident|Read|Review|Say|Sum|Triage)\b|^Th(?:is|ese)(?: [\w ]+)? (?:is|are|reports|waits)\b/;

test.each(findPresets())("the instructions of %s ask, and state no fact", (name) => {
  const sentences = listInstructions(readPreset(name).preset).flatMap((text) => text.split(/(?<=\.) /));
  expect(sentences.filter((sentence) => !ASKS.test(sentence))).toEqual([]);
});

describe("amounts are written as people do", () => {
  const stripe = (object: object) => ({
    id: "evt_1",
    type: "invoice.payment_failed",
    livemode: true,
    data: { object },
  });
  const telegram = (currency: string) => ({
    update_id: 1,
    pre_checkout_query: { from: { first_name: "Zoe" }, currency, total_amount: 1000, invoice_payload: "tea" },
  });
  const order = {
    id: 1,
    name: "#1",
    current_total_price: "9.5",
    currency: "EUR",
    line_items: [{ name: "Tea", price: "9.5" }],
  };
  test.each<[string, object, string]>([
    [
      "stripe",
      stripe({ object: "invoice", id: "in_1", currency: "usd", amount_due: 1000 }),
      "Amount due: 10.00 USD, paid: 0.00 USD",
    ],
    ["stripe", stripe({ object: "invoice", id: "in_1", currency: "jpy", amount_due: 1000 }), "Amount due: 1000 JPY"],
    [
      "stripe",
      stripe({ object: "charge", id: "ch_1", currency: "kwd", amount: 1500, amount_refunded: 500 }),
      "1.500 KWD, refunded: 0.500 KWD",
    ],
    ["stripe", stripe({ object: "balance", available: [{ amount: 100, currency: "usd" }] }), "Available: 1.00 USD"],
    [
      "stripe",
      stripe({ object: "price", id: "p", currency: "usd", unit_amount: 900, recurring: { interval: "month" } }),
      "Price: 9.00 USD a month",
    ],
    ["telegram", telegram("USD"), "Amount: 10.00 USD for tea"],
    ["telegram", telegram("XTR"), "Amount: 1000 XTR for tea"],
    ["telegram", telegram("UGX"), "Amount: 1000.00 UGX for tea"],
    ["shopify", order, "#1: 9.50 EUR"],
    ["shopify", order, "Tea, 9.50 EUR each"],
    [
      "calendly",
      { event: "invitee.created", payload: { uri: "u", payment: { amount: 45.5, currency: "USD" } } },
      "Payment: 45.50 USD",
    ],
  ])("%s %j", async (preset, payload, expected) => {
    const post = await usePreset(preset, { events: ["*"] });
    const { actions } = await post(payload, { "x-shopify-topic": "orders/create" });
    expect(actions).toMatchObject([{ message: expect.stringContaining(expected) }]);
  });
});

/** `invoice.payment_failed`, `deal.propertyChange`, `APP_HOME`. */
const TECHNICAL = /^[^:\n]+: (?:\w+[._/]\w[\w./-]*|[a-z]+[A-Z]\w*)(?:\s|$)/;

test.each(findSamples(PRESETS_FOLDER))("the messages of $name begin with who did what, in words", ({ samples }) => {
  const messages = samples.flatMap(({ file }) => {
    const expected = JSON.parse(readFileSync(`${file}.expected.json`, "utf8"));
    const actions: { message?: string; text?: string }[] = Array.isArray(expected) ? expected : expected.actions;
    return actions.map(({ message, text }) => message ?? text ?? "");
  });
  expect(messages.filter((message) => TECHNICAL.test(message))).toEqual([]);
});

const pushed = (type: string, data: object) => ({
  message: {
    attributes: { "ce-type": `google.workspace.chat.${type}`, "ce-subject": "//chat.googleapis.com/spaces/AAAA" },
    data: Buffer.from(JSON.stringify(data)).toString("base64"),
    messageId: "71",
  },
  subscription: "projects/acme/subscriptions/chat",
});
const said = {
  message: {
    name: "spaces/AAAA/messages/1",
    sender: { name: "users/7", type: "HUMAN" },
    text: "Hello",
    thread: { name: "spaces/AAAA/threads/t" },
  },
};
const s3 = (key: string) => ({
  eventName: "ObjectCreated:Put",
  awsRegion: "eu-west-1",
  eventTime: "2026-01-05T09:00:00.000Z",
  s3: { bucket: { name: "invoices" }, object: { key, size: 1024 } },
});
const sns = (message: object) => ({
  Type: "Notification",
  MessageId: "m1",
  TopicArn: "arn:aws:sns:eu-west-1:1:t",
  Message: JSON.stringify(message),
});
const stored = {
  id: "uev_1",
  type: "domain.created",
  payload: { user: { email: "ann@example.com" }, domain: { name: "shop.example.com" } },
};

test.each<[string, object, string[]]>([
  ["googlechat", pushed("message.v1.created", said), ["users/7 wrote a message\nSpace: spaces/AAAA", "\nHello"]],
  [
    "googlechat",
    pushed("membership.v1.deleted", { membership: { member: { name: "users/8" } } }),
    ["users/8 did membership v1 deleted"],
  ],
  ["vercel", stored, ["Vercel: domain created by ann@example.com\n", "Domain: shop.example.com\n"]],
  ["resend", { type: "contact.created", data: { id: "c" } }, ["Resend: contact created\n"]],
  [
    "hubspot",
    [{ subscriptionType: "contact.privacyDeletion", objectId: 1, portalId: 2 }],
    ["HubSpot: contact was deleted for privacy\n"],
  ],
  ["stripe", { id: "e", type: "customer.tax_id.created", data: { object: {} } }, ["Stripe: customer tax id created\n"]],
  [
    "sns",
    sns({ Records: [s3("a.pdf")] }),
    ["AWS: S3 object created\ninvoices/a.pdf\n", "1024 bytes, eu-west-1, 2026-01-05 09:00:00 UTC"],
  ],
  [
    "homeassistant",
    { event: "water_leak", room: "Laundry", sensors: [1, 2] },
    ["water leak\n", "room: Laundry\nsensors: [1,2]"],
  ],
  ["zendesk", { ticket: { id: "7", title: "Help", order: "1042" }, plan: "gold" }, ["order: 1042\nplan: gold"]],
  ["datadog", { title: "Slow", runbook: "https://r.example" }, ["runbook: https://r.example"]],
  ["newrelic", { title: "Slow", team: "web" }, ["team: web"]],
  ["grafana", { title: "Slow", region: "eu" }, ["region: eu"]],
])("%s %j says what happened, and leaves nothing out", async (preset, payload, expected) => {
  const audience = preset === "googlechat" ? { audience: "https://hooks.example.com" } : {};
  const topicArn = preset === "sns" ? { topicArn: "arn:aws:sns:eu-west-1:1:t" } : {};
  const events = ["datadog", "homeassistant", "sns", "newrelic", "grafana"].includes(preset) ? {} : { events: ["*"] };
  const post = await usePreset(preset, { ...events, ...audience, ...topicArn });
  const { actions } = await post(payload);
  for (const text of expected) expect(actions).toMatchObject([{ message: expect.stringContaining(text) }]);
});

test("a push of Workspace Events is no home page, and the app's own message starts nothing", async () => {
  const post = await usePreset("googlechat", { audience: "https://hooks.example.com", events: ["message.v1.*"] });
  expect(await post(pushed("message.v1.created", said))).toMatchObject({
    event: "message.v1.created",
    actions: [{ sessionKey: "hook:googlechat:spaces/AAAA/threads/t" }],
  });
  const own = { message: { ...said.message, sender: { name: "users/9", type: "BOT" } } };
  expect(await post(pushed("message.v1.created", own))).toMatchObject({
    actions: [],
    reason: expect.stringContaining("an app did it"),
  });
});

test("Uptime Kuma: the notice about a certificate is in the session of its monitor", async () => {
  const post = await usePreset("uptimekuma");
  const read = (name: string): unknown =>
    JSON.parse(readFileSync(`${PRESETS_FOLDER}/uptimekuma/samples/${name}.json`, "utf8"));
  const sessions = await Promise.all(["down", "certificate"].map(async (name) => (await post(read(name))).actions));
  expect(sessions).toMatchObject([[{ sessionKey: "hook:uptimekuma:Shop" }], [{ sessionKey: "hook:uptimekuma:Shop" }]]);
});
