import { createHmac } from "node:crypto";
import type { Service } from "./service.ts";

interface Posted {
  status: number;
  /** Why the event was skipped. */
  reason: string | undefined;
}

/** Messages of people, as Slack, Telegram and GitHub post and sign them to the presets of these names. */
export interface ChatMessages {
  inSlack(event: object, secret?: string, hook?: string): Promise<Posted>;
  inTelegram(message: object, secret?: string, hook?: string): Promise<Posted>;
  onGithub(comment: object, options?: { secret?: string; sender?: object }): Promise<Posted>;
}

export interface ChatPlaces {
  secret: string;
  slackChannel: string;
  telegramChat: string;
  /** `acme/app#1` */
  issue: string;
}

export function createChatMessages(service: () => Service, places: () => ChatPlaces): ChatMessages {
  let sent = 0;
  return {
    inSlack(event, secret = places().secret, hook = "slack") {
      sent += 1;
      const ts = `${Math.floor(Date.now() / 1000)}.${500_000 + sent}`;
      const message = { type: "message", channel: places().slackChannel, channel_type: "channel", user: "U0ANN", ts };
      const whole = { ...message, team: "T0ACME", event_ts: ts, ...event };
      const payload = { type: "event_callback", team_id: "T0ACME", event_id: `Ev${sent}`, event: whole };
      return post(hook, payload, (body) => {
        const time = String(Math.floor(Date.now() / 1000));
        const signature = `v0=${hmac(`v0:${time}:${body}`, secret)}`;
        return { "x-slack-request-timestamp": time, "x-slack-signature": signature };
      });
    },
    inTelegram(message, secret = places().secret, hook = "telegram") {
      sent += 1;
      const chat = { id: Number(places().telegramChat), type: "group" };
      const about = { message_id: sent, from: { id: 222, is_bot: false }, chat, date: Math.floor(Date.now() / 1000) };
      const payload = { update_id: sent, message: { ...about, ...message } };
      return post(hook, payload, () => ({ "x-telegram-bot-api-secret-token": secret }));
    },
    onGithub(comment, { secret = places().secret, sender = {} } = {}) {
      sent += 1;
      const [repository = "", number = ""] = places().issue.split("#");
      const ann = { login: "ann", id: 11, type: "User", ...sender };
      const now = new Date().toISOString();
      const about = { id: sent, user: ann, html_url: `https://github.com/c/${sent}`, created_at: now, updated_at: now };
      const issue = { number: Number(number), title: "Questions" };
      const payload = {
        action: "created",
        issue,
        comment: { ...about, ...comment },
        repository: { full_name: repository },
        sender: ann,
      };
      return post("github", payload, (body) => ({
        "x-github-event": "issue_comment",
        "x-github-delivery": `d${sent}`,
        "x-hub-signature-256": `sha256=${hmac(body, secret)}`,
      }));
    },
  };

  async function post(
    hook: string,
    payload: object,
    toHeaders: (body: string) => Record<string, string>,
  ): Promise<Posted> {
    const { url, api } = service();
    const body = JSON.stringify(payload);
    const headers = { "content-type": "application/json", ...toHeaders(body) };
    const response = await fetch(`${url}/hooks/${hook}`, { method: "POST", headers, body });
    const { events } = await api(`/api/events?hook=${hook}&limit=1`);
    return { status: response.status, reason: events[0]?.reason };
  }
}

function hmac(text: string, secret: string): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}
