import { signAppToken, toHeaders } from "./client.ts";
import { request, requireId, toRefusal } from "../kit/http.ts";
import { DriverError } from "../../core/errors.ts";
import { readPath, toObject, toText } from "../../core/shared/json.ts";
import { familiesOf, openCalls, readPages } from "../kit/hook-calls.ts";
import type { ApiAccess, HookApi, VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";

const API = "https://api.github.com";
const PAGE = 100;

/** https://docs.github.com/en/rest/repos/webhooks, https://docs.github.com/en/rest/orgs/webhooks */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["GITHUB_TOKEN", "GH_TOKEN"],
  tokenNeeds: "read and write access to webhooks (classic: admin:repo_hook, admin:org_hook)",
  connect: (access) => (access.token === "" ? connectApp(access) : connectPlace(access)),
};

const ADVICE = new Map([
  [401, "Check the token."],
  [403, `Give the token ${webhooks.tokenNeeds}.`],
  [404, "Check the repository or organization, and that the token may see its webhooks."],
]);

/** `repos/acme/shop`, `orgs/acme` */
export function toGithubPath(place: string): string {
  return place.includes("/") ? `repos/${place}` : `orgs/${place}`;
}

function connectPlace(access: ApiAccess): HookApi {
  const { baseUrl = API, place = "" } = access;
  const call = openCalls(access, { service: "GitHub", baseUrl, headers: toHeaders, advice: ADVICE, explain });
  const base = `/${toGithubPath(place)}/hooks`;
  const toBody = ({ url, secret, events, all }: WantedHook) => ({
    active: true,
    // GitHub refuses those of organizations and of Apps by their names.
    events: all ? ["*"] : familiesOf(events),
    config: { url, secret, content_type: "json", insecure_ssl: "0" },
  });
  return {
    async find(url) {
      const hooks = await readPages(call, (page) => `${base}?per_page=${PAGE}&page=${page}`, PAGE);
      return hooks.filter((hook) => readPath(hook, ["config", "url"]) === url).map(({ id }) => requireId(id, "GitHub"));
    },
    async create(wanted) {
      const { body } = await call("POST", base, { name: "web", ...toBody(wanted) });
      return { id: requireId(body["id"], "GitHub") };
    },
    update: async (id, wanted) => void (await call("PATCH", `${base}/${id}`, toBody(wanted))),
    remove: async (id) => void (await call("DELETE", `${base}/${id}`, undefined, [404])),
    async health(id) {
      const { body } = await call("GET", `${base}/${id}`);
      const { items = [] } = await call("GET", `${base}/${id}/deliveries?per_page=30`);
      const failed = items.filter(({ status_code: code }) => Number(code) < 200 || Number(code) >= 300);
      const last = toText(failed[0]?.["status"]);
      const note = `${failed.length} of the last ${items.length} deliveries failed, the newest with: ${last}`;
      return { isEnabled: body["active"] === true, notes: failed.length > 0 ? [note] : [] };
    },
    test: async (id) => void (await call("POST", `${base}/${id}/pings`)),
  };
}

/** GitHub explains which event or address it does not take in `errors`. */
function explain({ body }: { body: Record<string, unknown> }): { reason: unknown } {
  const details = Array.isArray(body["errors"])
    ? body["errors"].map((error) => toText(readPath(error, ["message"])))
    : [];
  return { reason: [toText(body["message"]), ...details].filter(Boolean).join(": ") };
}

/** A GitHub App has one webhook, whose events are chosen in its settings: only address and secret can be set. */
function connectApp({ baseUrl = API, account, signal }: ApiAccess): HookApi {
  const app = toObject(account["app"]);
  const path = "/app/hook/config";
  const call = async (method: "GET" | "PATCH", body?: object) => {
    const token = signAppToken({ id: toText(app["id"]), key: toText(app["key"]) }, Math.floor(Date.now() / 1000));
    const url = baseUrl.replace(/\/$/, "") + path;
    const answer = await request({ service: "GitHub", url, method, headers: toHeaders(token), body, signal });
    if (answer.status === 200) return answer.body;
    throw toRefusal("GitHub", answer, {
      reason: answer.body["message"],
      advice: "Check channels.github.app: its id and key.",
    });
  };
  const set: HookApi["update"] = async (_id, { url, secret }) =>
    void (await call("PATCH", { url, secret, content_type: "json", insecure_ssl: "0" }));
  return {
    find: async (url) => ((await call("GET"))["url"] === url ? ["app"] : []),
    async findOther(url) {
      const other = toText((await call("GET"))["url"]);
      return other === url ? undefined : other || undefined;
    },
    async create(wanted) {
      await set("app", wanted);
      return { id: "app" };
    },
    update: set,
    async remove() {
      const message = "The webhook of a GitHub App cannot be removed by its API. Turn it off in the app's settings.";
      throw new DriverError(message, { retryable: false });
    },
    health: async () => ({ isEnabled: true, notes: [] }),
  };
}
