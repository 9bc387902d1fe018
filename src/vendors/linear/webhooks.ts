import { requireId } from "../kit/http.ts";
import { DriverError } from "../../core/errors.ts";
import { toObject, toObjects } from "../../core/shared/json.ts";
import { readNodes } from "../kit/graphql.ts";
import { familiesOf } from "../kit/hook-calls.ts";
import type { VendorWebhooks } from "../../core/ports/vendor.ts";
import { openLinear, WEBHOOK_ACCESS } from "./client.ts";

/** https://linear.app/developers/webhooks, https://github.com/linear/linear/blob/master/packages/sdk/src/schema.graphql */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["LINEAR_API_KEY"],
  tokenNeeds: WEBHOOK_ACCESS,
  connect(access) {
    const { place } = access;
    const tryToAsk = openLinear(access);
    const ask = async (query: string, variables: object): Promise<Record<string, unknown>> => {
      const data = await tryToAsk(query, variables);
      if (!data) throw new DriverError(UNKNOWN, { retryable: false });
      return data;
    };
    /** By the key of its issues: `OPS` of `OPS-12`. */
    const findTeam = async (key: string): Promise<string> => {
      const [team] = toObjects(toObject((await ask(TEAM, { key }))["teams"])["nodes"]);
      if (!team)
        throw new DriverError(`Linear shows no team with the key ${key} to this API key.`, { retryable: false });
      return requireId(team["id"], "Linear");
    };
    const list = (): Promise<Record<string, unknown>[]> => readNodes("Linear", ask, FIND, "webhooks");
    return {
      async find(url) {
        return (await list()).filter((hook) => hook["url"] === url).map(({ id }) => requireId(id, "Linear"));
      },
      async create({ url, secret, events }) {
        const scope = place === undefined ? { allPublicTeams: true } : { teamId: await findTeam(place) };
        const input = { url, secret, label: "Hookline", enabled: true, resourceTypes: toTypes(events), ...scope };
        const done = toObject((await ask(CREATE, { input }))["done"]);
        return { id: requireId(toObject(done["webhook"])["id"], "Linear") };
      },
      async update(id, { url, secret, events }) {
        await ask(UPDATE, { id, input: { url, secret, enabled: true, resourceTypes: toTypes(events) } });
      },
      remove: async (id) => void (await tryToAsk(REMOVE, { id })),
      async health(id) {
        const hook = (await list()).find((one) => one["id"] === id);
        return { isEnabled: hook?.["enabled"] === true, notes: [] };
      },
    };
  },
};

const UNKNOWN = "Linear has no such webhook or team. Check the team, and that the API key may see it.";

/** Only an OAuth application gets these, as its own settings say. */
const OF_APPLICATIONS = new Set(["AgentSessionEvent", "AppUserNotification", "OAuthApp", "PermissionChange"]);

const FIND =
  "query ($after: String) { webhooks(first: 100, after: $after) { nodes { id url enabled } pageInfo { hasNextPage endCursor } } }";
const TEAM = "query ($key: String!) { teams(filter: { key: { eqIgnoreCase: $key } }) { nodes { id } } }";
const CREATE =
  "mutation ($input: WebhookCreateInput!) { done: webhookCreate(input: $input) { success webhook { id } } }";
const UPDATE =
  "mutation ($id: String!, $input: WebhookUpdateInput!) { done: webhookUpdate(id: $id, input: $input) { success } }";
const REMOVE = "mutation ($id: String!) { done: webhookDelete(id: $id) { success } }";

function toTypes(events: string[]): string[] {
  return familiesOf(events).filter((family) => !OF_APPLICATIONS.has(family));
}
