import type { DriverDefinition } from "../core/ports/plugin.ts";
import { bitbucket } from "./bitbucket/comments.ts";
import { gitea } from "./gitea/comments.ts";
import { github } from "./github/comments.ts";
import { gitlab } from "./gitlab/comments.ts";
import { jira } from "./jira/comments.ts";
import { linear } from "./linear/comments.ts";
import { notion } from "./notion/comments.ts";
import { pagerduty } from "./pagerduty/comments.ts";
import { sentry } from "./sentry/comments.ts";
import { discord } from "./discord/channel.ts";
import type { ChannelDriver } from "../core/ports/channel.ts";
import { http } from "./http-target.ts";
import { imessage } from "./imessage/channel.ts";
import { mattermost } from "./mattermost/channel.ts";
import { msteams } from "./msteams/channel.ts";
import { signalCli } from "./signal/channel.ts";
import { slack } from "./slack/channel.ts";
import { telegram } from "./telegram/channel.ts";
import { whatsapp } from "./whatsapp/channel.ts";

export const channels: Record<string, DriverDefinition<ChannelDriver>> = {
  whatsapp,
  signal: signalCli,
  telegram,
  discord,
  slack,
  mattermost,
  imessage,
  msteams,
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
