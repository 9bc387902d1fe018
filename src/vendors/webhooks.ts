import { azuredevops } from "./azuredevops/webhooks.ts";
import { bitbucket } from "./bitbucket/webhooks.ts";
import { gitea } from "./gitea/webhooks.ts";
import { github } from "./github/webhooks.ts";
import { gitlab } from "./gitlab/webhooks.ts";
import type { Vendor } from "./kit/hook-api.ts";
import { jira } from "./jira/webhooks.ts";
import { linear } from "./linear/webhooks.ts";
import { pagerduty } from "./pagerduty/webhooks.ts";
import { shopify } from "./shopify/webhooks.ts";
import { stripe } from "./stripe/webhooks.ts";
import { telegram } from "./telegram/webhooks.ts";
import { zendesk } from "./zendesk/webhooks.ts";

/** By the name of the preset. */
const vendors: Record<string, Vendor> = {
  azuredevops,
  bitbucket,
  gitea,
  github,
  gitlab,
  jira,
  linear,
  pagerduty,
  shopify,
  stripe,
  telegram,
  zendesk,
};

export function findVendor(preset: string): Vendor | undefined {
  return Object.hasOwn(vendors, preset) ? vendors[preset] : undefined;
}
