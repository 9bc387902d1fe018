import { DriverError } from "../../core/errors.ts";
import type { ApiAccess, HookApi, VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";
import { readPath, toObject, toText } from "../../core/shared/json.ts";
import { familiesOf, readPages } from "../kit/hook-calls.ts";
import { requireId } from "../kit/http.ts";
import { openAsApp, openGithub, WEBHOOK_ACCESS } from "./client.ts";

const PAGE = 100;

/** https://docs.github.com/en/rest/repos/webhooks, https://docs.github.com/en/rest/orgs/webhooks */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["GITHUB_TOKEN", "GH_TOKEN"],
  tokenNeeds: WEBHOOK_ACCESS,
  connect: (access) => (access.token === "" ? connectApp(access) : connectPlace(access)),
};

/** `/repos/acme/shop/hooks`, `/orgs/acme/hooks` */
export function toHooksPath({ place = "" }: ApiAccess): string {
  return `/${place.includes("/") ? "repos" : "orgs"}/${place}/hooks`;
}

function connectPlace(access: ApiAccess): HookApi {
  const call = openGithub(access, "webhooks");
  const base = toHooksPath(access);
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

/** A GitHub App has one webhook, whose events are chosen in its settings: only address and secret can be set. */
function connectApp(access: ApiAccess): HookApi {
  const app = toObject(access.account["app"]);
  const call = openAsApp(access, { id: toText(app["id"]), key: toText(app["key"]) });
  const path = "/app/hook/config";
  const readUrl = async (): Promise<string> => toText((await call("GET", path)).body["url"]);
  const set: HookApi["update"] = async (_id, { url, secret }) =>
    void (await call("PATCH", path, { url, secret, content_type: "json", insecure_ssl: "0" }));
  return {
    find: async (url) => ((await readUrl()) === url ? ["app"] : []),
    async findOther(url) {
      const other = await readUrl();
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
