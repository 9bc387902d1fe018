import { accessTo, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { webhooks } from "./webhooks.ts";

const url = "https://hooks.example.com/hooks/azuredevops";
const wanted: WantedHook = { url, secret: "u:s", events: ["git.push"], all: false };
const SUBSCRIPTIONS = "/acme/_apis/hooks/subscriptions";
const PROJECT = { "/acme/_apis/projects/shop?api-version=6.0": { id: "p" } };
const PUBLISHERS = {
  ...PROJECT,
  "/acme/_apis/hooks/publishers?api-version=6.0": {
    value: [{ id: "tfs", supportedEvents: [{ id: "git.push", supportedResourceVersions: ["1.0"] }] }],
  },
};
const LISTED = {
  ...PROJECT,
  [`${SUBSCRIPTIONS}?consumerId=webHooks&consumerActionId=httpRequest&api-version=6.0`]: {
    value: [{ id: "4", eventType: "git.push", publisherInputs: { projectId: "p" }, consumerInputs: { url } }],
  },
};

const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl, { place: "acme/shop" }));

describeRefusals("Azure DevOps", {
  uses: {
    "the project": { call: (baseUrl) => hooksAt(baseUrl).find(url) },
    "finding subscriptions": { call: (baseUrl) => hooksAt(baseUrl).find(url), before: PROJECT },
    "the publishers": { call: (baseUrl) => hooksAt(baseUrl).create(wanted), before: PROJECT },
    "making a subscription": { call: (baseUrl) => hooksAt(baseUrl).create(wanted), before: PUBLISHERS },
    "changing a subscription": { call: async (baseUrl) => hooksAt(baseUrl).update("4", wanted), before: LISTED },
    "removing a subscription": { call: (baseUrl) => hooksAt(baseUrl).remove("4"), expected: [404] },
    "the health of subscriptions": { call: (baseUrl) => hooksAt(baseUrl).health("4", []), before: PROJECT },
  },
  // https://learn.microsoft.com/en-us/azure/devops/integrate/concepts/rate-limits
  limits: {
    "by its status": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
  },
});
