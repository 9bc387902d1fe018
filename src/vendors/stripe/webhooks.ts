import { createHash } from "node:crypto";
import { type Call, requireId } from "../kit/http.ts";
import { toObjects, toText } from "../../core/shared/json.ts";
import { createNonce } from "../../core/shared/id.ts";
import { readAll } from "../kit/hook-calls.ts";
import { KEY_ACCESS, openStripe } from "./client.ts";
import type { CreatedHook, VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";

const PAGE = 100;

/** https://docs.stripe.com/api/webhook_endpoints */
export const webhooks: VendorWebhooks = {
  secretBy: "vendor",
  tokenVariables: ["STRIPE_API_KEY", "STRIPE_SECRET_KEY"],
  tokenNeeds: KEY_ACCESS,
  connect(access) {
    const call = openStripe(access);
    const find = async (url: string): Promise<string[]> =>
      (await listEndpoints(call))
        .filter((endpoint) => endpoint["url"] === url)
        .map(({ id }) => requireId(id, "Stripe"));
    return {
      find,
      isCreateRepeatable: true,
      /** Stripe answers a known key with the first answer, also if that endpoint is gone. */
      async create(wanted) {
        const first = await createWith(toKey(wanted), wanted);
        return (await find(wanted.url)).includes(first.id) ? first : createWith(createNonce(), wanted);
      },
      async update(id, { url, events }) {
        await call("POST", `/webhook_endpoints/${id}`, toForm({ url, events, disabled: "false" }));
      },
      remove: async (id) => void (await call("DELETE", `/webhook_endpoints/${id}`, undefined, [404])),
      async health(id) {
        const { body } = await call("GET", `/webhook_endpoints/${id}`);
        return { isEnabled: body["status"] === "enabled", notes: [] };
      },
    };

    async function createWith(key: string, { url, events }: WantedHook): Promise<CreatedHook> {
      const form = toForm({ url, events, description: "Hookline" });
      const { body } = await openStripe(access, key)("POST", "/webhook_endpoints", form);
      return { id: requireId(body["id"], "Stripe"), secret: toText(body["secret"]) || undefined };
    }
  },
};

export function listEndpoints(call: Call): Promise<Record<string, unknown>[]> {
  return readAll(async (after) => {
    const query = after === undefined ? "" : `&starting_after=${after}`;
    const { body } = await call("GET", `/webhook_endpoints?limit=${PAGE}${query}`);
    const items = toObjects(body["data"]);
    return { items, next: body["has_more"] === true ? requireId(items.at(-1)?.["id"], "Stripe") : undefined };
  });
}

/** Stripe refuses a key that is used again with other parameters. */
function toKey({ url, events }: WantedHook): string {
  return `hookline-${createHash("sha256")
    .update(JSON.stringify([url, events]))
    .digest("hex")
    .slice(0, 40)}`;
}

function toForm({ events, ...fields }: { url: string; events: string[] } & Record<string, unknown>): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value));
  for (const event of events) form.append("enabled_events[]", event);
  return form;
}
