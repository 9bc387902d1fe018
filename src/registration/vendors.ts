import { bitbucket } from "./bitbucket.ts";
import { gitea } from "./gitea.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import type { Vendor } from "./hook-api.ts";
import { jira } from "./jira.ts";
import { linear } from "./linear.ts";
import { pagerduty } from "./pagerduty.ts";
import { stripe } from "./stripe.ts";
import { telegram } from "./telegram.ts";

/** By the name of the preset. */
const vendors: Record<string, Vendor> = { bitbucket, gitea, github, gitlab, jira, linear, pagerduty, stripe, telegram };

export function findVendor(preset: string): Vendor | undefined {
  return Object.hasOwn(vendors, preset) ? vendors[preset] : undefined;
}
