import { requireId, toBasic } from "../kit/http.ts";
import { DriverError } from "../../core/errors.ts";
import { readPath, toObjects, toText } from "../../core/shared/json.ts";
import { openCalls } from "../kit/hook-calls.ts";
import type { VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";
import { toOneHook } from "../kit/subscriptions.ts";

/** Service hooks of a project, one an event. https://learn.microsoft.com/en-us/rest/api/azure/devops/hooks/subscriptions */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["AZURE_DEVOPS_TOKEN", "AZURE_DEVOPS_EXT_PAT"],
  tokenNeeds: "read access to projects, code, builds and work items, of an account that may edit service hooks",
  connect(access) {
    const { token, baseUrl = "https://dev.azure.com", place = "" } = access;
    const [organization = "", project = ""] = place.split("/");
    const call = openCalls(access, {
      service: "Azure DevOps",
      baseUrl,
      root: `/${encodeURIComponent(organization)}/_apis`,
      // A token of Microsoft Entra is a JWT, a personal access token is a password.
      headers: () => ({ authorization: token.startsWith("eyJ") ? `Bearer ${token}` : toBasic("", token) }),
      advice: ADVICE,
    });
    const base = "/hooks/subscriptions";
    let projectId: Promise<string> | undefined;
    let events: Promise<Map<string, object>> | undefined;
    const getProject = (): Promise<string> => (projectId ??= readProject());
    return toOneHook({
      async list() {
        const query = new URLSearchParams(CONSUMER).toString();
        const wanted = await getProject();
        const { body } = await call("GET", `${base}?${query}&${VERSION}`);
        const found = toObjects(body["value"]);
        return found.filter((one) => toText(readPath(one, ["publisherInputs", "projectId"])) === wanted).map(toListed);
      },
      toNames: (names) => [...names],
      async create(eventType, wanted) {
        const publisher = (await (events ??= readEvents())).get(eventType);
        if (!publisher) throw new DriverError("Azure DevOps has no such event here.", { retryable: false });
        const inputs = { publisherInputs: { projectId: await getProject() }, consumerInputs: toInputs(wanted) };
        const subscription = { ...publisher, eventType, ...CONSUMER, ...inputs };
        return requireId((await call("POST", `${base}?${VERSION}`, subscription)).body["id"], "Azure DevOps");
      },
      /** Filters that a person has set stay. */
      async update({ id, listed }, wanted) {
        const { publisherId, eventType, resourceVersion, publisherInputs } = listed;
        const kept = { publisherId, eventType, resourceVersion, publisherInputs };
        const subscription = { id, ...kept, ...CONSUMER, consumerInputs: toInputs(wanted), status: "enabled" };
        await call("PUT", `${base}/${id}?${VERSION}`, subscription);
      },
      remove: async (id) => void (await call("DELETE", `${base}/${id}?${VERSION}`, undefined, [404])),
    });

    async function readProject(): Promise<string> {
      const { body } = await call("GET", `/projects/${encodeURIComponent(project)}?${VERSION}`);
      return requireId(body["id"], "Azure DevOps");
    }

    /** Who publishes each event, and in which version: an organization has more events than a server. */
    async function readEvents(): Promise<Map<string, object>> {
      const { body } = await call("GET", `/hooks/publishers?${VERSION}`);
      const found = toObjects(body["value"]).flatMap(({ id: publisherId, supportedEvents }) =>
        toObjects(supportedEvents).map(({ id, supportedResourceVersions }): [string, object] => {
          const versions = Array.isArray(supportedResourceVersions) ? supportedResourceVersions.map(toText) : [];
          const resourceVersion = versions.find((version) => !version.includes("preview")) ?? versions[0];
          return [toText(id), { publisherId, resourceVersion }];
        }),
      );
      return new Map(found);
    }
  },
};

const ADVICE = new Map([
  [401, "Check the token."],
  [403, `The token needs ${webhooks.tokenNeeds}.`],
  [404, "Check the organization and the project, and that the token may see them."],
]);

/** Azure DevOps Server 2020 knows it too. */
const VERSION = "api-version=6.0";
/** "Web Hooks" */
const CONSUMER = { consumerId: "webHooks", consumerActionId: "httpRequest" };

function toListed(listed: Record<string, unknown>) {
  const status = toText(listed["status"]);
  return {
    id: requireId(listed["id"], "Azure DevOps"),
    url: toText(readPath(listed, ["consumerInputs", "url"])),
    event: toText(listed["eventType"]),
    ...(status.startsWith("disabled") && { disabled: status }),
    listed,
  };
}

/** The secret is `user:password`, as the preset checks it. */
function toInputs({ url, secret = "" }: WantedHook): object {
  const [, basicAuthUsername = "", basicAuthPassword = ""] = /^([^:]*):?(.*)$/s.exec(secret) ?? [];
  return { url, basicAuthUsername, basicAuthPassword };
}
