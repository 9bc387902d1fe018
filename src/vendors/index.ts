import { azuredevops } from "./azuredevops/index.ts";
import { bitbucket } from "./bitbucket/index.ts";
import { chatwoot } from "./chatwoot/index.ts";
import { discord } from "./discord/index.ts";
import { gitea } from "./gitea/index.ts";
import { github } from "./github/index.ts";
import { gitlab } from "./gitlab/index.ts";
import { googlechat } from "./googlechat/index.ts";
import { imessage } from "./imessage/index.ts";
import { jira } from "./jira/index.ts";
import { linear } from "./linear/index.ts";
import { mattermost } from "./mattermost/index.ts";
import { msteams } from "./msteams/index.ts";
import { notion } from "./notion/index.ts";
import { pagerduty } from "./pagerduty/index.ts";
import { sentry } from "./sentry/index.ts";
import { shopify } from "./shopify/index.ts";
import { signal } from "./signal/index.ts";
import { slack } from "./slack/index.ts";
import { stripe } from "./stripe/index.ts";
import { telegram } from "./telegram/index.ts";
import { whatsapp } from "./whatsapp/index.ts";
import { zendesk } from "./zendesk/index.ts";
import type { Vendors } from "../core/ports/vendor.ts";

/** The built-in vendors, by name. */
export const vendors: Vendors = {
  azuredevops,
  bitbucket,
  chatwoot,
  discord,
  gitea,
  github,
  gitlab,
  googlechat,
  imessage,
  jira,
  linear,
  mattermost,
  msteams,
  notion,
  pagerduty,
  sentry,
  shopify,
  signal,
  slack,
  stripe,
  telegram,
  whatsapp,
  zendesk,
};
