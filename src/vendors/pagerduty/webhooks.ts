import { requireId } from "../kit/http.ts";
import { readPath, toObject, toObjects, toText } from "../../core/shared/json.ts";
import { readAll } from "../kit/hook-calls.ts";
import { openPagerduty, WEBHOOK_ACCESS } from "./client.ts";
import type { VendorWebhooks } from "../../core/ports/vendor.ts";

const PAGE = 100;

/** https://developer.pagerduty.com/api-reference/, Webhook Subscriptions */
export const webhooks: VendorWebhooks = {
  secretBy: "vendor",
  tokenVariables: ["PAGERDUTY_TOKEN", "PAGERDUTY_API_KEY"],
  tokenNeeds: WEBHOOK_ACCESS,
  connect(access) {
    const { place } = access;
    const call = openPagerduty(access);
    const base = "/webhook_subscriptions";
    const [kind, of] = place?.split(":") ?? ["account"];
    const filter = { type: `${kind}_reference`, ...(of !== undefined && { id: of }) };
    const toEvents = (events: string[]): string[] => events.filter((event) => event !== "pagey.ping");
    return {
      async find(url) {
        const all = await readAll(async (offset = "0") => {
          const { body } = await call("GET", `${base}?limit=${PAGE}&offset=${offset}`);
          const next = body["more"] === true ? String(Number(offset) + PAGE) : undefined;
          return { items: toObjects(body["webhook_subscriptions"]), next };
        });
        const ours = all.filter((one) => readPath(one, ["delivery_method", "url"]) === url);
        return ours.map(({ id }) => requireId(id, "PagerDuty"));
      },
      async create({ url, events }) {
        const subscription = {
          type: "webhook_subscription",
          description: "Hookline",
          active: true,
          events: toEvents(events),
          delivery_method: { type: "http_delivery_method", url },
          filter,
        };
        const { body } = await call("POST", base, { webhook_subscription: subscription });
        const made = toObject(body["webhook_subscription"]);
        const secret = toText(readPath(made, ["delivery_method", "secret"])) || undefined;
        return { id: requireId(made["id"], "PagerDuty"), secret };
      },
      async update(id, { events }) {
        const changed = { active: true, events: toEvents(events), filter };
        const { body } = await call("PUT", `${base}/${id}`, { webhook_subscription: changed });
        if (isPaused(toObject(body["webhook_subscription"]))) await call("POST", `${base}/${id}/enable`);
      },
      remove: async (id) => void (await call("DELETE", `${base}/${id}`, undefined, [404])),
      async health(id) {
        const subscription = toObject((await call("GET", `${base}/${id}`)).body["webhook_subscription"]);
        const notes = isPaused(subscription)
          ? ["PagerDuty has disabled it for a while, because deliveries failed"]
          : [];
        return { isEnabled: subscription["active"] === true && notes.length === 0, notes };
      },
      test: async (id) => void (await call("POST", `${base}/${id}/ping`)),
    };
  },
};

function isPaused(subscription: Record<string, unknown>): boolean {
  return readPath(subscription, ["delivery_method", "temporarily_disabled"]) === true;
}
