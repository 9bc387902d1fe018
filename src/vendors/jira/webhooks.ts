import { requireId, toBasic } from "../kit/http.ts";
import { toObjects, toText } from "../../core/shared/json.ts";
import { openCalls } from "../kit/hook-calls.ts";
import type { VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";

/** The webhooks that an administrator makes. https://developer.atlassian.com/cloud/jira/platform/webhooks/#secure-admin-webhooks */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["JIRA_TOKEN"],
  tokenNeeds: "an account with the permission Administer Jira",
  connect(access) {
    const { token, baseUrl = "", place, account } = access;
    const email = toText(account["email"]);
    const call = openCalls(access, {
      service: "Jira",
      baseUrl,
      root: "/rest/webhooks/1.0",
      headers: () => ({
        authorization: email === "" ? `Bearer ${token}` : toBasic(email, token),
        accept: "application/json",
      }),
      advice: ADVICE,
      explain: ({ body }) => ({ reason: toObjects(body["messages"])?.[0]?.["key"] ?? body["message"] }),
    });
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

const ADVICE = new Map([
  [401, "Check the token, and channels.jira.email."],
  [403, `The token needs ${webhooks.tokenNeeds}.`],
  [404, "Check channels.jira.baseUrl: a token with scopes cannot make webhooks."],
]);

/** Jira shows the id only as the end of an address. */
function toId(self: unknown): string {
  return requireId(/\/(\d+)$/.exec(toText(self))?.[1], "Jira");
}
