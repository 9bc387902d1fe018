import { requireId, toUnreadable } from "../kit/http.ts";
import { readPath, toObject, toObjects, toText } from "../../core/shared/json.ts";
import { readAll } from "../kit/hook-calls.ts";
import { openZendesk, WEBHOOK_ACCESS } from "./client.ts";
import type { VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";

const PAGE = 100;
const PREFIX = "zen:event-type:";
const DELIVERED = new Set(["success", "accepted"]);

/** Webhooks that subscribe to events. https://developer.zendesk.com/api-reference/webhooks/webhooks-api/webhooks/ */
export const webhooks: VendorWebhooks = {
  secretBy: "vendor",
  tokenVariables: ["ZENDESK_TOKEN", "ZENDESK_API_TOKEN"],
  tokenNeeds: WEBHOOK_ACCESS,
  connect(access) {
    const call = openZendesk(access);
    const base = "/webhooks";
    const read = async (id: string) => toObject((await call("GET", `${base}/${id}`)).body["webhook"]);
    const toBody = ({ url, events }: WantedHook) => ({
      name: "Hookline",
      endpoint: url,
      http_method: "POST",
      request_format: "json",
      status: "active",
      // This name is what the preset calls the body of a trigger.
      subscriptions: events.filter((event) => event !== "ticket.updated").map((event) => PREFIX + event),
    });
    return {
      /** A webhook of triggers posts what a person has written there, and cannot subscribe to events. */
      async find(url) {
        const ours = (await list()).filter(
          ({ endpoint, subscriptions }) =>
            endpoint === url && !(Array.isArray(subscriptions) && subscriptions.includes("conditional_ticket_events")),
        );
        return ours.map(({ id }) => requireId(id, "Zendesk"));
      },
      async create(wanted) {
        const { body } = await call("POST", base, { webhook: toBody(wanted) });
        const id = requireId(toObject(body["webhook"])["id"], "Zendesk");
        const secret = readPath((await call("GET", `${base}/${id}/signing_secret`)).body, ["signing_secret", "secret"]);
        if (typeof secret !== "string" || secret === "") throw toUnreadable("Zendesk");
        return { id, secret };
      },
      update: async (id, wanted) => void (await call("PUT", `${base}/${id}`, { webhook: toBody(wanted) })),
      remove: async (id) => void (await call("DELETE", `${base}/${id}`, undefined, [404])),
      async health(id) {
        const { status } = await read(id);
        const { body } = await call("GET", `${base}/${id}/invocations?page[size]=${PAGE}&sort=-latest_completed_at`);
        const last = toObjects(body["invocations"]);
        const failed = last.filter((one) => !DELIVERED.has(toText(one["status"])));
        const newest = toText(failed[0]?.["status"]);
        const note = `${failed.length} of the last ${last.length} deliveries failed, the newest with: ${newest}`;
        return { isEnabled: status === "active", notes: failed.length > 0 ? [note] : [] };
      },
      /** The preset skips this event. */
      async test(id) {
        const { endpoint } = await read(id);
        const payload = JSON.stringify({ type: `${PREFIX}test`, subject: "test", detail: {}, event: {} });
        const request = { endpoint, http_method: "POST", request_format: "json", payload };
        await call("POST", `${base}/test?webhook_id=${encodeURIComponent(id)}`, { request });
      },
    };

    function list(): Promise<Record<string, unknown>[]> {
      return readAll(async (after) => {
        const query = after === undefined ? "" : `&page[after]=${encodeURIComponent(after)}`;
        const { body } = await call("GET", `${base}?page[size]=${PAGE}${query}`);
        const { has_more: hasMore, after_cursor: next } = toObject(body["meta"]);
        return { items: toObjects(body["webhooks"]), next: hasMore === true ? toText(next) : undefined };
      });
    }
  },
};
