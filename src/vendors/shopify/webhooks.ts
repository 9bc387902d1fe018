import { requireId } from "../kit/http.ts";
import { readPath, toText } from "../../core/shared/json.ts";
import { openShopify, WEBHOOK_ACCESS } from "./client.ts";
import type { VendorWebhooks } from "../../core/ports/vendor.ts";
import { toOneHook } from "../kit/subscriptions.ts";

/**
 * The subscriptions that an app has in a shop, one a topic; Shopify signs all with the app's client secret.
 * https://shopify.dev/docs/api/admin-graphql/latest/mutations/webhookSubscriptionCreate
 */
export const webhooks: VendorWebhooks = {
  secretBy: "app",
  tokenVariables: ["SHOPIFY_ACCESS_TOKEN", "SHOPIFY_TOKEN"],
  tokenNeeds: WEBHOOK_ACCESS,
  connect(access) {
    const { ask, list } = openShopify(access);
    return toOneHook({
      async list() {
        const found = await list(LIST, "webhookSubscriptions");
        return found.map((listed) => ({
          id: requireId(listed["id"], "Shopify", GLOBAL_ID),
          url: toText(listed["uri"]),
          event: toText(listed["topic"]),
          listed,
        }));
      },
      toNames: (events) => events.map(toTopic).filter((topic) => !COMPLIANCE_TOPICS.has(topic)),
      async create(topic, { url: uri }) {
        const data = await ask(CREATE, { topic, input: { uri, format: "JSON" } });
        return requireId(
          readPath(data, ["webhookSubscriptionCreate", "webhookSubscription", "id"]),
          "Shopify",
          GLOBAL_ID,
        );
      },
      async update({ id }, { url: uri }) {
        await ask(UPDATE, { id, input: { uri, format: "JSON" } });
      },
      remove: async (id) => void (await ask(REMOVE, { id })),
    });
  },
};

/** An app subscribes to these in its settings. */
const COMPLIANCE_TOPICS = new Set(["CUSTOMERS_DATA_REQUEST", "CUSTOMERS_REDACT", "SHOP_REDACT"]);

const LIST =
  "query ($after: String) { webhookSubscriptions(first: 100, after: $after) { nodes { id topic uri } pageInfo { hasNextPage endCursor } } }";
const CREATE =
  "mutation ($topic: WebhookSubscriptionTopic!, $input: WebhookSubscriptionInput!) { webhookSubscriptionCreate(topic: $topic, webhookSubscription: $input) { webhookSubscription { id } userErrors { field message } } }";
const UPDATE =
  "mutation ($id: ID!, $input: WebhookSubscriptionInput!) { webhookSubscriptionUpdate(id: $id, webhookSubscription: $input) { webhookSubscription { id } userErrors { field message } } }";
const REMOVE =
  "mutation ($id: ID!) { webhookSubscriptionDelete(id: $id) { deletedWebhookSubscriptionId userErrors { field message } } }";

/** https://shopify.dev/docs/api/usage/gids */
const GLOBAL_ID = /^gid:\/\/shopify\/\w{1,100}\/\d{1,20}$/;

/** `orders/create` → `ORDERS_CREATE` */
function toTopic(event: string): string {
  return event.toUpperCase().replaceAll(/[/.]/g, "_");
}
