import { requireId } from "../kit/http.ts";
import { toText } from "../../core/shared/json.ts";
import type { VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";
import { openJira, WEBHOOK_ACCESS } from "./client.ts";

/** The webhooks that an administrator makes. https://developer.atlassian.com/cloud/jira/platform/webhooks/#secure-admin-webhooks */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["JIRA_TOKEN"],
  tokenNeeds: WEBHOOK_ACCESS,
  connect(access) {
    const { place } = access;
    const call = openJira(access);
    const toBody = ({ url, secret, events }: WantedHook) => ({
      name: "Hookline",
      url,
      secret,
      events,
      excludeBody: false,
      ...(place !== undefined && { filters: { "issue-related-events-section": `project = ${place}` } }),
    });
    return {
      async find(url) {
        const { items = [] } = await call("GET", "/webhook");
        return items.filter((hook) => hook["url"] === url).map(({ self }) => toId(self));
      },
      create: async (wanted) => ({ id: toId((await call("POST", "/webhook", toBody(wanted))).body["self"]) }),
      update: async (id, wanted) => void (await call("PUT", `/webhook/${id}`, { ...toBody(wanted), enabled: true })),
      remove: async (id) => void (await call("DELETE", `/webhook/${id}`, undefined, [404])),
      async health(id) {
        const { enabled, isSigned } = (await call("GET", `/webhook/${id}`)).body;
        return { isEnabled: enabled !== false, notes: isSigned === false ? ["it has no secret"] : [] };
      },
    };
  },
};

/** Jira shows the id only as the end of an address. */
function toId(self: unknown): string {
  return requireId(/\/(\d+)$/.exec(toText(self))?.[1], "Jira");
}
