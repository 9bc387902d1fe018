import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import type { Service } from "./service.ts";

/** A press of a button, as a service posts it. */
export interface Press {
  value: string;
  person: string;
  /** The channel's id of the message. */
  messageId: string;
  /** A wrong secret or key. */
  isForged?: boolean;
  /** The hook token in place of the signature. */
  token?: string;
  /** Default: that of the service's name. */
  hook?: string;
}

export interface Pressed {
  status: number;
  body: Record<string, unknown> | undefined;
  /** Why the event was skipped. */
  reason: string | undefined;
}

export const PRESS_SECRET = "secret-of-the-sender-0123456789";

const keys = generateKeyPairSync("ed25519");
const otherKeys = generateKeyPairSync("ed25519");

/** The application's public key, as Discord shows it. */
export const DISCORD_KEY = Buffer.from(keys.publicKey.export({ format: "jwk" }).x ?? "", "base64url").toString("hex");

let count = 0;

interface Request {
  body: string;
  headers: Record<string, string>;
}

const JSON_TYPE = { "content-type": "application/json" };

/** How each service posts and signs a press. */
const REQUESTS: Record<string, (press: Press) => Request> = {
  slack({ value, person, messageId, isForged }) {
    const [channel = "", ts] = messageId.split(":");
    const [team, user] = person.split("/");
    const payload = {
      type: "block_actions",
      user: { id: user, username: "ann", team_id: team },
      team: { id: team },
      container: { type: "message", message_ts: ts, channel_id: channel },
      channel: { id: channel, name: "ops" },
      message: { type: "message", ts },
      trigger_id: `t${count}`,
      response_url: "https://hooks.slack.com/actions/T0ACME/1/y",
      actions: [{ type: "button", action_id: "hookline-0", block_id: "b", value, action_ts: `${count}.1` }],
    };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const time = String(Math.floor(Date.now() / 1000));
    const secret = isForged ? "another" : PRESS_SECRET;
    const signature = `v0=${createHmac("sha256", secret).update(`v0:${time}:${body}`).digest("hex")}`;
    const type = { "content-type": "application/x-www-form-urlencoded" };
    return { body, headers: { ...type, "x-slack-request-timestamp": time, "x-slack-signature": signature } };
  },
  telegram({ value, person, messageId, isForged }) {
    const [chat, message] = messageId.split(":");
    const callback_query = {
      id: `q${count}`,
      from: { id: Number(person), is_bot: false, first_name: "Ann" },
      message: { message_id: Number(message), chat: { id: Number(chat), type: "group" }, date: 1 },
      chat_instance: "1",
      data: value,
    };
    const secret = isForged ? "another" : PRESS_SECRET;
    const body = JSON.stringify({ update_id: count, callback_query });
    return { body, headers: { ...JSON_TYPE, "x-telegram-bot-api-secret-token": secret } };
  },
  discord({ value, person, messageId, isForged }) {
    const message = { id: messageId, channel_id: DISCORD_CHANNEL, content: "?", author: { id: "9", bot: true } };
    const data = { component_type: 2, custom_id: value };
    const member = { user: { id: person, username: "ann" }, roles: [] };
    const payload = { id: `${count}`, type: 3, version: 1, channel_id: DISCORD_CHANNEL, data, member, message };
    const body = JSON.stringify(payload);
    const time = String(Math.floor(Date.now() / 1000));
    const { privateKey } = isForged ? otherKeys : keys;
    const signature = sign(null, Buffer.from(time + body), privateKey).toString("hex");
    return { body, headers: { ...JSON_TYPE, "x-signature-timestamp": time, "x-signature-ed25519": signature } };
  },
  // The server signs nothing: the button proves the press.
  mattermost({ value, person, messageId }) {
    const about = { user_id: person, user_name: "ann", channel_id: "c", post_id: messageId, team_id: "t" };
    const body = JSON.stringify({ ...about, trigger_id: `${count}`, type: "", context: { hookline: value } });
    return { body, headers: JSON_TYPE };
  },
};

const DISCORD_CHANNEL = "175928847299117063";

/** Posts a press to the preset of its service, as often as somebody presses. */
export function sendPress(service: Service, name: string, press: Press): Promise<Response> {
  count += 1;
  const request = REQUESTS[name]?.(press);
  if (!request) throw new Error(`Nobody presses buttons in ${name}.`);
  const { token, hook = name } = press;
  const type = request.headers["content-type"] ?? "";
  const headers = token === undefined ? request.headers : { "content-type": type, authorization: `Bearer ${token}` };
  return fetch(`${service.url}/hooks/${hook}`, { method: "POST", body: request.body, headers });
}

/** Posts a press, and reads what became of it. */
export async function postPress(service: Service, name: string, press: Press): Promise<Pressed> {
  const response = await sendPress(service, name, press);
  const text = await response.text();
  const { events } = await service.api(`/api/events?hook=${press.hook ?? name}&limit=1`);
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text), reason: events[0]?.reason };
}
