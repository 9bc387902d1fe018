import type { DriverDefinition } from "../plugin.ts";
import { bitbucket } from "./comments/bitbucket.ts";
import { gitea } from "./comments/gitea.ts";
import { github } from "./comments/github.ts";
import { gitlab } from "./comments/gitlab.ts";
import { jira } from "./comments/jira.ts";
import { linear } from "./comments/linear.ts";
import { notion } from "./comments/notion.ts";
import { pagerduty } from "./comments/pagerduty.ts";
import { sentry } from "./comments/sentry.ts";
import { discord } from "./discord.ts";
import type { ChannelDriver } from "./driver.ts";
import { email } from "./email/email.ts";
import { http } from "./http-target.ts";
import { imessage } from "./imessage.ts";
import { mattermost } from "./mattermost.ts";
import { msteams } from "./msteams.ts";
import { signalCli } from "./signal.ts";
import { slack } from "./slack.ts";
import { telegram } from "./telegram.ts";
import { whatsapp } from "./whatsapp.ts";

export const channels: Record<string, DriverDefinition<ChannelDriver>> = {
  whatsapp,
  signal: signalCli,
  telegram,
  discord,
  slack,
  mattermost,
  imessage,
  msteams,
  email,
  http,
  github,
  gitlab,
  gitea,
  linear,
  jira,
  bitbucket,
  pagerduty,
  sentry,
  notion,
};
