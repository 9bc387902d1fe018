import { requireId } from "../kit/http.ts";
import { toText } from "../../core/shared/json.ts";
import { familiesOf, readPages } from "../kit/hook-calls.ts";
import type { ApiAccess, VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";
import { openGitlab, WEBHOOK_ACCESS } from "./client.ts";

const PAGE = 100;

/** https://docs.gitlab.com/api/project_webhooks/, https://docs.gitlab.com/api/group_webhooks/ */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["GITLAB_TOKEN"],
  tokenNeeds: WEBHOOK_ACCESS,
  connect(access) {
    const call = openGitlab(access);
    const base = toHooksPath(access);
    const isGroup = toGroup(access.place) !== undefined;
    const toBody = ({ url, secret, events }: WantedHook) => ({
      url,
      ...(secret?.startsWith("whsec_") ? { signing_token: secret } : { token: secret }),
      enable_ssl_verification: url.startsWith("https:"),
      ...toTriggers(events, isGroup),
    });
    return {
      async find(url) {
        const hooks = await readPages(call, (page) => `${base}?per_page=${PAGE}&page=${page}`, PAGE);
        return hooks.filter((hook) => hook["url"] === url).map(({ id }) => requireId(id, "GitLab"));
      },
      create: async (wanted) => ({ id: requireId((await call("POST", base, toBody(wanted))).body["id"], "GitLab") }),
      update: async (id, wanted) => void (await call("PUT", `${base}/${id}`, toBody(wanted))),
      remove: async (id) => void (await call("DELETE", `${base}/${id}`, undefined, [404])),
      async health(id) {
        const { body } = await call("GET", `${base}/${id}`);
        const status = toText(body["alert_status"]) || "executable";
        const until = toText(body["disabled_until"]);
        const off = `its alert_status is ${status}${until && `, until ${until}`}: GitLab sends nothing, and logs nothing`;
        return {
          isEnabled: status === "executable",
          notes: [...(status === "executable" ? [] : [off]), ...(await readFailures(id))],
        };
      },
      test: async (id) => void (await call("POST", `${base}/${id}/test/push_events`)),
    };

    /** Before GitLab 17.3 there is no such list. */
    async function readFailures(id: string): Promise<string[]> {
      const { items = [] } = await call("GET", `${base}/${id}/events?per_page=20`, undefined, [404]);
      const failed = items.filter(({ response_status: status }) => !/^2\d\d$/.test(String(status)));
      if (failed.length === 0) return [];
      return [
        `${failed.length} of the last ${items.length} events failed, the newest with: ${String(failed[0]?.["response_status"])}`,
      ];
    }
  },
};

/** Which trigger sends the events of a family. Confidential issues and comments have triggers that stay off. */
const TRIGGERS: Record<string, string> = {
  push: "push_events",
  tag_push: "tag_push_events",
  issue: "issues_events",
  work_item: "issues_events",
  merge_request: "merge_requests_events",
  note: "note_events",
  pipeline: "pipeline_events",
  build: "job_events",
  deployment: "deployment_events",
  release: "releases_events",
  feature_flag: "feature_flag_events",
  wiki_page: "wiki_page_events",
  emoji: "emoji_events",
  milestone: "milestone_events",
  access_token: "resource_access_token_events",
  vulnerability: "vulnerability_events",
};
/** Only a group has these. */
const GROUP_TRIGGERS: Record<string, string> = {
  project_create: "project_events",
  project_destroy: "project_events",
  subgroup_create: "subgroup_events",
  subgroup_destroy: "subgroup_events",
  user_add_to_group: "member_events",
  user_remove_from_group: "member_events",
  user_update_for_group: "member_events",
};

/** `group:acme/tools`, `acme`, or a project, which is in a group. */
export function toHooksPath({ place = "" }: ApiAccess): string {
  const group = toGroup(place);
  return group === undefined
    ? `/projects/${encodeURIComponent(place)}/hooks`
    : `/groups/${encodeURIComponent(group)}/hooks`;
}

function toGroup(place = ""): string | undefined {
  return /^group:(.*)$|^([^/]+)$/.exec(place)?.slice(1).find(Boolean);
}

function toTriggers(events: string[], isGroup: boolean): Record<string, boolean> {
  const known = isGroup ? { ...TRIGGERS, ...GROUP_TRIGGERS } : TRIGGERS;
  const wanted = new Set(familiesOf(events).flatMap((family) => known[family] ?? []));
  // GitLab turns pushes on unless it is asked not to.
  return Object.fromEntries([...new Set(Object.values(known))].map((trigger) => [trigger, wanted.has(trigger)]));
}
