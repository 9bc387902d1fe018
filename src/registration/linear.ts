import { createApi, requireId, toRefusal } from "../channels/http.ts";
import { toObject, toObjects, toText } from "../shared/json.ts";
import { callWith, familiesOf, type HookAccess, type HookApi, type Vendor } from "./hook-api.ts";

/** https://linear.app/developers/webhooks */
export const linear: Vendor = {
  service: "Linear",
  secretBy: "us",
  tokenVariables: ["LINEAR_API_KEY"],
  tokenNeeds: "the permission Admin",
  connect,
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

function connect(access: HookAccess): HookApi {
  const { token, baseUrl = "https://api.linear.app", place } = access;
  // An OAuth token needs `Bearer`, an API key must not have it.
  const headers = (): Record<string, string> => ({
    authorization: token.startsWith("lin_api_") ? token : `Bearer ${token}`,
  });
  const api = createApi({
    service: "Linear",
    baseUrl,
    token,
    headers,
    explain: ({ body }) => ({ reason: toObjects(body["errors"])?.[0]?.["message"] }),
  });
  const call = callWith(api, access);
  return {
    async find(url) {
      return (await list()).filter((hook) => hook["url"] === url).map(({ id }) => requireId(id, "Linear"));
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
      const hook = (await list()).find((one) => one["id"] === id);
      return { isEnabled: hook?.["enabled"] === true, notes: [] };
    },
  };

  async function list(): Promise<Record<string, unknown>[]> {
    const found: Record<string, unknown>[] = [];
    for (let after: string | undefined; ;) {
      const { nodes, pageInfo } = toObject((await ask(FIND, { after }))["webhooks"]);
      found.push(...toObjects(nodes));
      const { hasNextPage, endCursor } = toObject(pageInfo);
      if (hasNextPage !== true || endCursor === after) return found;
      after = toText(endCursor);
    }
  }

  async function ask(query: string, variables: object): Promise<Record<string, unknown>> {
    const answer = await call("POST", "/graphql", { query, variables });
    const [error] = toObjects(answer.body["errors"]);
    if (!error) return toObject(answer.body["data"]);
    const reason = toObject(error["extensions"])["userPresentableMessage"] ?? error["message"];
    throw toRefusal("Linear", answer, { reason, retryable: false, advice: `The API key needs ${linear.tokenNeeds}.` });
  }
}

function toTypes(events: string[]): string[] {
  return familiesOf(events).filter((family) => !OF_APPLICATIONS.has(family));
}
