import { azuredevops } from "./azuredevops.ts";
import { bitbucket } from "./bitbucket.ts";
import { gitea } from "./gitea.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import type { Vendor } from "./hook-api.ts";
import { jira } from "./jira.ts";
import { linear } from "./linear.ts";
import { pagerduty } from "./pagerduty.ts";
import { shopify } from "./shopify.ts";
import { stripe } from "./stripe.ts";
import { telegram } from "./telegram.ts";
import { zendesk } from "./zendesk.ts";

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
