import { requireId, toBasic } from "../kit/http.ts";
import { toText } from "../../core/shared/json.ts";
import { openCalls, readPages } from "../kit/hook-calls.ts";
import type { VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";

const PAGE = 100;

/** Bitbucket Cloud. https://developer.atlassian.com/cloud/bitbucket/rest/api-group-webhooks/ */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["BITBUCKET_TOKEN"],
  tokenNeeds: "the permissions Webhooks: Read and Write",
  connect(access) {
    const { token, baseUrl = "https://api.bitbucket.org/2.0", place = "", account } = access;
    const email = toText(account["email"]);
    const call = openCalls(access, {
      service: "Bitbucket",
      baseUrl,
      headers: email === "" ? undefined : () => ({ authorization: toBasic(email, token) }),
      advice: ADVICE,
    });
    const base = `/${place.includes("/") ? "repositories" : "workspaces"}/${place}/hooks`;
    const toBody = ({ url, secret, events }: WantedHook) => ({
      description: "Hookline",
      url,
      secret,
      active: true,
      events: events.filter((event) => CLOUD_EVENT.test(event)),
    });
    return {
      async find(url) {
        const hooks = await readPages(call, (page) => `${base}?pagelen=${PAGE}&page=${page}`, PAGE);
        return hooks.filter((hook) => hook["url"] === url).map(({ uuid }) => requireId(uuid, "Bitbucket"));
      },
      create: async (wanted) => ({
        id: requireId((await call("POST", base, toBody(wanted))).body["uuid"], "Bitbucket"),
      }),
      update: async (id, wanted) => void (await call("PUT", `${base}/${encodeURIComponent(id)}`, toBody(wanted))),
      remove: async (id) => void (await call("DELETE", `${base}/${encodeURIComponent(id)}`, undefined, [404])),
      async health(id) {
        const { body } = await call("GET", `${base}/${encodeURIComponent(id)}`);
        return { isEnabled: body["active"] === true, notes: body["secret_set"] === false ? ["it has no secret"] : [] };
      },
    };
  },
};

const ADVICE = new Map([
  [401, "Check the token, and channels.bitbucket.email if it is an API token."],
  [403, `Give the token ${webhooks.tokenNeeds}, and its account admin access.`],
  [404, "Check the repository or workspace, and that the token may see it."],
]);

/** The others are events of Bitbucket Data Center. */
const CLOUD_EVENT =
  /^(?:pullrequest:|issue:|repo:(?:push|fork|updated|transfer|created|deleted|imported|commit_comment_created|commit_status_created|commit_status_updated)$)/;
