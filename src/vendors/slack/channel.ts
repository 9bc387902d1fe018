import type { FromSchema } from "json-schema-to-ts";
import { DriverError } from "../../core/errors.ts";
import type { DriverDefinition } from "../../core/ports/plugin.ts";
import { HTTP_URL, NON_BLANK, toObject, toObjects, objectSchema } from "../../core/shared/json.ts";
import { parseRetryAfter } from "../../core/shared/net/network.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import {
  type Call,
  createApi,
  type HttpAnswer,
  recipientCheck,
  requireId,
  splitRecipient,
  toCodeRefusal,
  toUnreadable,
} from "../kit/http.ts";
import { escapeAngles, SLACK } from "../kit/text/dialects.ts";
import { measureAs, renderMarkdown } from "../kit/text/markdown.ts";

const schema = objectSchema(["token"], {
  token: { ...NON_BLANK, description: "Bot token." },
  baseUrl: { ...HTTP_URL, description: "For tests and proxies. Default: https://slack.com/api/." },
});

type SlackOptions = FromSchema<typeof schema>;

export const slack: DriverDefinition<ChannelDriver, SlackOptions> = { schema, create: createSlack };

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

/** Posts to Slack as a bot. After a lost answer it looks for its message, if the token may read the channel. */
export function createSlack({ token, baseUrl = "https://slack.com/api" }: SlackOptions): ChannelDriver {
  const open = createApi({ service: "Slack", baseUrl, token });
  return {
    name: "slack",
    limit: 4000,
    measure: (text) => escapeAngles(text).length,
    measureMarkdown: measureAs(SLACK),
    checkRecipient: recipientCheck(
      /^(?:[#@][\p{L}\p{N}_.-]{1,80}|[A-Z][A-Z0-9]{1,79})(?::\d{1,12}\.\d{1,9})?$/u,
      "a Slack channel, user or conversation id such as C0123456789, or a #channel-name; with :1712345678.000100 a thread",
    ),
    addressOf: (to) => splitRecipient(to).place,
    canUpdate: true,
    openReads: open.openReads,
    async send({ to, text, format, idempotencyKey, replaces, mayBeSent }, signal) {
      const ask = createAsk(await open(signal));
      const content = {
        // Slack reads `<…>` as a link or a mention: with `<!channel>` a reply could notify everyone.
        text: format === "markdown" ? await renderMarkdown(text, SLACK) : escapeAngles(text),
        // A preview would fetch an untrusted link and show what it says.
        unfurl_links: false,
        unfurl_media: false,
      };
      const earlier = replaces && splitRecipient(replaces);
      const edited =
        earlier && (await ask("chat.update", { channel: earlier.place, ts: earlier.message, ...content }, NOT_EDITED));
      if (edited) return { messageId: replaces };
      const found = mayBeSent && (await findSent(to, idempotencyKey, ask));
      if (found) return { messageId: found };
      const { place, message: thread_ts } = splitRecipient(to);
      const metadata = { event_type: EVENT_TYPE, event_payload: { key: idempotencyKey } };
      const posted = await ask("chat.postMessage", { channel: place, thread_ts, ...content, metadata });
      return { messageId: `${requireId(posted?.["channel"], "Slack")}:${requireId(posted?.["ts"], "Slack")}` };
    },
    async remove(_, messageId, signal) {
      const { place: channel, message: ts } = splitRecipient(messageId);
      await createAsk(await open(signal))("chat.delete", { channel, ts }, ["message_not_found", "channel_not_found"]);
    },
    async startWorking(to, signal) {
      const { place: channel, message: timestamp } = splitRecipient(to);
      // A channel is no message that could have a reaction.
      if (timestamp === undefined) return async () => {};
      const mark = { channel, timestamp, name: "eyes" };
      await createAsk(await open(signal))("reactions.add", mark, ["already_reacted"]);
      return async () => {
        const ask = createAsk(await open(AbortSignal.timeout(MARK_TIMEOUT_MS)));
        await ask("reactions.remove", mark, ["no_reaction"]);
      };
    },
  };
}

/** Nobody sees it. https://docs.slack.dev/messaging/message-metadata */
const EVENT_TYPE = "hookline_delivery";

/** Where the token may not read, or the recipient is no channel's id, nobody can tell. */
function unlessPermanent(error: unknown): undefined {
  if (!(error instanceof DriverError) || error.retryable) throw error;
}

/** Among the newest thousand messages of the channel, or of the thread. */
async function findSent(to: string, key: string, ask: Ask): Promise<string | undefined> {
  const { place: channel, message: ts } = splitRecipient(to);
  const method = ts === undefined ? "conversations.history" : "conversations.replies";
  let cursor = "";
  for (let page = 0; page < 5; page += 1) {
    const fields = {
      channel,
      include_all_metadata: "true",
      limit: "200",
      ...(ts && { ts }),
      ...(cursor && { cursor }),
    };
    const answer = await ask(method, new URLSearchParams(fields)).catch(unlessPermanent);
    const found = toObjects(answer?.["messages"]).find(({ metadata }) => {
      const { event_type: type, event_payload: payload } = toObject(metadata);
      return type === EVENT_TYPE && toObject(payload)["key"] === key;
    });
    if (found) return `${channel}:${requireId(found["ts"], "Slack")}`;
    const next = toObject(answer?.["response_metadata"])["next_cursor"];
    if (typeof next !== "string" || next === "") return undefined;
    cursor = next;
  }
  return undefined;
}

/** The message is gone, or too old: the reply becomes a new one. */
const NOT_EDITED = ["message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found"];

const MARK_TIMEOUT_MS = 10_000;

/** Calls a method of the API. Resolves to undefined for an `accepted` error. */
type Ask = (method: string, fields: object, accepted?: string[]) => Promise<Record<string, unknown> | undefined>;

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
