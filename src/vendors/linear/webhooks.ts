import { requireId } from "../kit/http.ts";
import { toObject, toObjects } from "../../core/shared/json.ts";
import { openGraphql } from "../kit/graphql.ts";
import { familiesOf, openCalls } from "../kit/hook-calls.ts";
import type { VendorWebhooks } from "../../core/ports/vendor.ts";

/** https://linear.app/developers/webhooks, https://github.com/linear/linear/blob/master/packages/sdk/src/schema.graphql */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["LINEAR_API_KEY"],
  tokenNeeds: "the permission Admin",
  connect(access) {
    const { token, baseUrl = "https://api.linear.app", place } = access;
    // An OAuth token needs `Bearer`, an API key must not have it.
    const headers = (): Record<string, string> => ({
      authorization: token.startsWith("lin_api_") ? token : `Bearer ${token}`,
    });
    const call = openCalls(access, {
      service: "Linear",
      baseUrl,
      headers,
      explain: ({ body }) => ({ reason: toObjects(body["errors"])?.[0]?.["message"] }),
    });
    const { ask, list } = openGraphql(call, {
      service: "Linear",
      path: "/graphql",
      advice: `The API key needs ${webhooks.tokenNeeds}.`,
    });
    return {
      async find(url) {
        return (await list(FIND, "webhooks"))
          .filter((hook) => hook["url"] === url)
          .map(({ id }) => requireId(id, "Linear"));
      },
      async create({ url, secret, events }) {
        const scope = place === undefined ? { allPublicTeams: true } : { teamId: place };
        const input = { url, secret, label: "Hookline", enabled: true, resourceTypes: toTypes(events), ...scope };
        const done = toObject((await ask(CREATE, { input }))["done"]);
        return { id: requireId(toObject(done["webhook"])["id"], "Linear") };
      },
      async update(id, { url, secret, events }) {
        await ask(UPDATE, { id, input: { url, secret, enabled: true, resourceTypes: toTypes(events) } });
      },
      remove: async (id) => void (await ask(REMOVE, { id })),
      async health(id) {
        const hook = (await list(FIND, "webhooks")).find((one) => one["id"] === id);
        return { isEnabled: hook?.["enabled"] === true, notes: [] };
      },
    };
  },
};

/** Only an OAuth application gets these, as its own settings say. */
const OF_APPLICATIONS = new Set(["AgentSessionEvent", "AppUserNotification", "OAuthApp", "PermissionChange"]);

const FIND =
  "query ($after: String) { webhooks(first: 100, after: $after) { nodes { id url enabled } pageInfo { hasNextPage endCursor } } }";
const CREATE =
  "mutation ($input: WebhookCreateInput!) { done: webhookCreate(input: $input) { success webhook { id } } }";
const UPDATE =
  "mutation ($id: String!, $input: WebhookUpdateInput!) { done: webhookUpdate(id: $id, input: $input) { success } }";
const REMOVE = "mutation ($id: String!) { done: webhookDelete(id: $id) { success } }";

function toTypes(events: string[]): string[] {
  return familiesOf(events).filter((family) => !OF_APPLICATIONS.has(family));
}
