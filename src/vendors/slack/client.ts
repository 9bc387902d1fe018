import type { DriverError } from "../../core/errors.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { parseRetryAfter } from "../../core/shared/net/network.ts";
import { type Call, createApi, type HttpAnswer, toCodeRefusal, toUnreadable } from "../kit/http.ts";

/** Codes that say nothing against the message. https://docs.slack.dev/reference/methods/chat.postMessage */
const RETRYABLE_CODES = new Set([
  "external_channel_migrating",
  "fatal_error",
  "internal_error",
  "rate_limited",
  "ratelimited",
  "request_timeout",
  "service_unavailable",
  "team_added_to_org",
]);

const ADVICE = new Map([
  ["account_inactive", "Check channels.slack.token."],
  ["channel_not_found", "Check the recipient, and that the bot can see it."],
  ["invalid_auth", "Check channels.slack.token."],
  ["is_archived", "The channel is archived."],
  ["missing_scope", "Give the bot the chat:write scope."],
  ["not_authed", "Check channels.slack.token."],
  ["not_in_channel", "Invite the bot to the channel."],
  ["token_revoked", "Check channels.slack.token."],
]);

/** Opens the API for the calls of one message. */
export interface OpenSlack {
  (signal: AbortSignal): Promise<Ask>;
  authorize: NonNullable<ChannelDriver["authorize"]>;
}

export function openSlack({
  token,
  baseUrl = "https://slack.com/api",
}: {
  token: string;
  baseUrl?: string;
}): OpenSlack {
  const open = createApi({ service: "Slack", baseUrl, token });
  const openAsk = async (signal: AbortSignal): Promise<Ask> => createAsk(await open(signal));
  return Object.assign(openAsk, { authorize: open.authorize });
}

/** Calls a method of the API. Resolves to undefined for an `accepted` error. */
export type Ask = (method: string, fields: object, accepted?: string[]) => Promise<Record<string, unknown> | undefined>;

function createAsk(call: Call): Ask {
  return async (method, fields, accepted = []) => {
    const answer = await call("POST", `/${method}`, fields);
    const { ok, error } = answer.body;
    if (ok === true) return answer.body;
    if (typeof error === "string" && accepted.includes(error)) return undefined;
    throw toDriverError(answer);
  };
}

/** The error for an answer with `ok: false`, which has the status 200. */
export function toDriverError({ body: { error }, headers }: Pick<HttpAnswer, "body" | "headers">): DriverError {
  if (typeof error !== "string") return toUnreadable("Slack");
  return toCodeRefusal("Slack", error, {
    advice: ADVICE.get(error),
    retryable: RETRYABLE_CODES.has(error),
    retryAfterMs: parseRetryAfter(headers.get("retry-after")),
  });
}
