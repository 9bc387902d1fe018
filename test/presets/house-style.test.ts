/** One style for all presets: what they say, and how people find them. */
import { describe, expect, test } from "vitest";
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
