import { requireId } from "../kit/http.ts";
import { readPath } from "../../core/shared/json.ts";
import { familiesOf, readPages } from "../kit/hook-calls.ts";
import type { VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";
import { openGitea, WEBHOOK_ACCESS } from "./client.ts";

/** Gitea's default for the largest page. */
const PAGE = 50;

/** Gitea and Forgejo. https://docs.gitea.com/api/#tag/repository/operation/repoCreateHook */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["GITEA_TOKEN"],
  tokenNeeds: WEBHOOK_ACCESS,
  connect(access) {
    const { place = "" } = access;
    const call = openGitea(access);
    const base = `/${place.includes("/") ? "repos" : "orgs"}/${place}/hooks`;
    const toBody = ({ url, secret, events }: WantedHook) => ({
      active: true,
      events: toGiteaEvents(events),
      config: { url, secret, content_type: "json" },
    });
    return {
      async find(url) {
        const hooks = await readPages(call, (page) => `${base}?limit=${PAGE}&page=${page}`, PAGE);
        return hooks
          .filter((hook) => readPath(hook, ["config", "url"]) === url)
          .map(({ id }) => requireId(id, "Gitea"));
      },
      async create(wanted) {
        const { body } = await call("POST", base, { type: "gitea", ...toBody(wanted) });
        return { id: requireId(body["id"], "Gitea") };
      },
      update: async (id, wanted) => void (await call("PATCH", `${base}/${id}`, toBody(wanted))),
      remove: async (id) => void (await call("DELETE", `${base}/${id}`, undefined, [404])),
      health: async (id) => ({ isEnabled: (await call("GET", `${base}/${id}`)).body["active"] === true, notes: [] }),
      ...(place.includes("/") && { test: async (id: string) => void (await call("POST", `${base}/${id}/tests`)) }),
    };
  },
};

/** `pull_request` stands for reviews and comments of pull requests too, and `issues` for labels and assignees. */
function toGiteaEvents(events: string[]): string[] {
  return [
    ...new Set(familiesOf(events).map((family) => (family.startsWith("pull_request") ? "pull_request" : family))),
  ];
}
