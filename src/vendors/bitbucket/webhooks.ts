import { requireId } from "../kit/http.ts";
import { readPages } from "../kit/hook-calls.ts";
import type { VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";
import { openBitbucket, WEBHOOK_ACCESS } from "./client.ts";

const PAGE = 100;

/** Bitbucket Cloud. https://developer.atlassian.com/cloud/bitbucket/rest/api-group-webhooks/ */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["BITBUCKET_TOKEN"],
  tokenNeeds: WEBHOOK_ACCESS,
  connect(access) {
    const { place = "" } = access;
    const call = openBitbucket(access);
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

/** The others are events of Bitbucket Data Center. */
const CLOUD_EVENT =
  /^(?:pullrequest:|issue:|repo:(?:push|fork|updated|transfer|created|deleted|imported|commit_comment_created|commit_status_created|commit_status_updated)$)/;
