import { buildSchema, graphqlSync } from "graphql";
import { type HookDouble, NOT_FOUND, ok, texts, type VendorHook } from "./hook-double.ts";

export const linear: HookDouble = ({ path, body }, store) => {
  if (path !== "/graphql") return NOT_FOUND;
  const edit = (id: string, input: Record<string, unknown>) =>
    store.edit(id, {
      secret: String(input["secret"]),
      events: texts(input["resourceTypes"]),
      url: String(input["url"]),
    });
  const result = graphqlSync({
    schema: LINEAR,
    source: String(body["query"]),
    variableValues: Object(body["variables"]),
    rootValue: {
      teams: ({ filter }: { filter: { key: { eqIgnoreCase: string } } }) => ({
        nodes: [{ id: `team-of-${filter.key.eqIgnoreCase}` }],
      }),
      webhooks: () => ({
        nodes: store.hooks.map(({ id, url, isActive }) => ({ id, url, enabled: isActive })),
        pageInfo: { hasNextPage: false, endCursor: null },
      }),
      webhookCreate({ input }: { input: Record<string, unknown> }) {
        const hook = store.add({
          url: String(input["url"]),
          secret: String(input["secret"]),
          events: texts(input["resourceTypes"]),
          body: input,
        });
        return { success: true, webhook: { id: hook.id } };
      },
      webhookUpdate: ({ id, input }: { id: string; input: Record<string, unknown> }) => ({
        success: edit(id, input) !== undefined,
        webhook: { id },
      }),
      webhookDelete: ({ id }: { id: string }) => ({ success: store.remove(id) }),
    },
  });
  return ok(result);
};

/** The parts that are used of https://github.com/linear/linear/blob/master/packages/sdk/src/schema.graphql. */
const LINEAR = buildSchema(`
  type Query {
    webhooks(first: Int, after: String): WebhookConnection!
    teams(filter: TeamFilter): TeamConnection!
  }
  input TeamFilter { key: StringComparator }
  input StringComparator { eqIgnoreCase: String }
  type Team { id: ID! }
  type TeamConnection { nodes: [Team!]! }
  type Mutation {
    webhookCreate(input: WebhookCreateInput!): WebhookPayload!
    webhookUpdate(id: String!, input: WebhookUpdateInput!): WebhookPayload!
    webhookDelete(id: String!): DeletePayload!
  }
  input WebhookCreateInput {
    label: String, id: String, enabled: Boolean, secret: String, url: String!, resourceTypes: [String!]!
    teamId: String, allPublicTeams: Boolean
  }
  input WebhookUpdateInput { label: String, secret: String, enabled: Boolean, url: String, resourceTypes: [String!] }
  type Webhook { id: ID!, url: String, enabled: Boolean! }
  type WebhookConnection { nodes: [Webhook!]!, pageInfo: PageInfo! }
  type PageInfo { hasNextPage: Boolean!, endCursor: String }
  type WebhookPayload { success: Boolean!, webhook: Webhook! }
  type DeletePayload { success: Boolean! }
`);

export const shopify: HookDouble = ({ path, body }, store) => {
  if (path !== "/admin/api/2026-10/graphql.json") return { status: 404, body: { errors: "Not Found" } };
  const show = ({ id, url, events }: VendorHook) => ({ id: GLOBAL + id, topic: events[0], uri: url });
  const refuse = (message: string) => ({ webhookSubscription: null, userErrors: [{ field: ["topic"], message }] });
  const result = graphqlSync({
    schema: SHOPIFY,
    source: String(body["query"]),
    variableValues: Object(body["variables"]),
    rootValue: {
      webhookSubscriptions: () => ({
        nodes: store.hooks.map(show),
        pageInfo: { hasNextPage: false, endCursor: null },
      }),
      webhookSubscriptionCreate({ topic, webhookSubscription: { uri } }: ShopifyCreate) {
        // The app has no scope for subscriptions.
        if (topic.startsWith("SUBSCRIPTION_"))
          return refuse("You cannot create a webhook subscription with the specified topic");
        if (store.hooks.some(({ url, events }) => url === uri && events[0] === topic))
          return refuse("Address for this topic has already been taken");
        return { webhookSubscription: show(store.add({ url: uri, events: [topic] })), userErrors: [] };
      },
      webhookSubscriptionUpdate({ id, webhookSubscription: { uri } }: { id: string } & ShopifyCreate) {
        const hook = store.edit(fromGlobal(id), { url: uri });
        return hook
          ? { webhookSubscription: show(hook), userErrors: [] }
          : refuse("Webhook subscription does not exist");
      },
      webhookSubscriptionDelete: ({ id }: { id: string }) => ({
        deletedWebhookSubscriptionId: store.remove(fromGlobal(id)) ? id : null,
        userErrors: [],
      }),
    },
  });
  return ok(result);
};

const GLOBAL = "gid://shopify/WebhookSubscription/";
const fromGlobal = (id: string): string => id.replace(GLOBAL, "");

interface ShopifyCreate {
  topic: string;
  webhookSubscription: { uri: string };
}

/** The parts that are used of https://shopify.dev/docs/api/admin-graphql/latest. */
const SHOPIFY = buildSchema(`
  type Query { webhookSubscriptions(first: Int, after: String): WebhookSubscriptionConnection! }
  type Mutation {
    webhookSubscriptionCreate(topic: WebhookSubscriptionTopic!, webhookSubscription: WebhookSubscriptionInput!): Payload
    webhookSubscriptionUpdate(id: ID!, webhookSubscription: WebhookSubscriptionInput!): Payload
    webhookSubscriptionDelete(id: ID!): WebhookSubscriptionDeletePayload
  }
  enum WebhookSubscriptionTopic {
    APP_UNINSTALLED DISPUTES_CREATE DISPUTES_UPDATE FULFILLMENT_ORDERS_CANCELLATION_REQUEST_SUBMITTED
    FULFILLMENT_ORDERS_FULFILLMENT_SERVICE_FAILED_TO_COMPLETE ORDERS_CANCELLED ORDERS_CREATE ORDERS_PAID
    ORDERS_RISK_ASSESSMENT_CHANGED PAYMENT_SCHEDULES_DUE REFUNDS_CREATE RETURNS_REQUEST
    SUBSCRIPTION_BILLING_ATTEMPTS_FAILURE SUBSCRIPTION_CONTRACTS_FAIL VARIANTS_OUT_OF_STOCK
  }
  enum WebhookSubscriptionFormat { JSON XML }
  input WebhookSubscriptionInput { uri: String, format: WebhookSubscriptionFormat }
  type WebhookSubscription { id: ID!, topic: WebhookSubscriptionTopic!, uri: String! }
  type WebhookSubscriptionConnection { nodes: [WebhookSubscription!]!, pageInfo: PageInfo! }
  type PageInfo { hasNextPage: Boolean!, endCursor: String }
  type UserError { field: [String!], message: String! }
  type Payload { webhookSubscription: WebhookSubscription, userErrors: [UserError!]! }
  type WebhookSubscriptionDeletePayload { deletedWebhookSubscriptionId: ID, userErrors: [UserError!]! }
`);
