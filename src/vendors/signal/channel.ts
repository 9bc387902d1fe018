import type { FromSchema } from "json-schema-to-ts";
import { DriverError } from "../../core/errors.ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, isObject, NON_BLANK, toObject, toObjects, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { createApi, requireId, toCodeRefusal, toUnreadable } from "../kit/http.ts";
import { PLAIN } from "../kit/text/dialects.ts";
import { type Dialect, measureAs, renderMarkdown } from "../kit/text/markdown.ts";
import { createStyles } from "../kit/text/styles.ts";

const schema = {
  description: "The daemon of signal-cli, started with `signal-cli daemon --http`.",
  ...objectSchema([], {
    account: {
      ...NON_BLANK,
      description: "Number or id of the account that sends: +15551234567. Required if the daemon has several.",
    },
    baseUrl: {
      ...HTTP_URL,
      description:
        "Where the daemon listens. It asks for no credential, so nobody else should reach it. Default: http://127.0.0.1:8080.",
    },
  }),
} as const;

type SignalOptions = FromSchema<typeof schema>;

export const signalCli: ChannelDefinition<SignalOptions> = {
  schema,
  create: createSignal,
  about: { to: "phone number", afterCrash: "may come twice", testedAgainst: "a double of signal-cli" },
};

const ADVICE = new Map<unknown, string>([
  [401, "signal-cli asks for no credential: let Hookline reach it without what is in front of it."],
  [403, "signal-cli asks for no credential: let Hookline reach it without what is in front of it."],
  [404, "Check channels.signal.baseUrl."],
  [421, "signal-cli must be called by the name in its --http option."],
  [-1, "Check the recipient, and that the account may write to it."],
  [-4, "The recipient's safety number has changed: trust it with `signal-cli trust`."],
  [-32_602, "Check channels.signal.account."],
  ["IDENTITY_FAILURE", "The recipient's safety number has changed: trust it with `signal-cli trust`."],
  ["UNREGISTERED_FAILURE", "The recipient is not on Signal."],
  ["RATE_LIMIT_FAILURE", "Signal may require a captcha: see `signal-cli submitRateLimitChallenge`."],
]);

/** Codes of signal-cli and JSON-RPC that say nothing against the message: https://github.com/AsamK/signal-cli. */
const RETRYABLE_CODES = new Set([
  -3, // input or output error
  -5, // rate limit
  -32_603, // anything unexpected, also when Signal's servers cannot be reached
]);

const RETRYABLE_RESULTS = new Set(["NETWORK_FAILURE", "RATE_LIMIT_FAILURE"]);

/** Sends through the daemon of signal-cli. Signal has no idempotency keys, so a message whose answer was lost may come twice. */
export function createSignal({ baseUrl = "http://127.0.0.1:8080", account }: SignalOptions): ChannelDriver {
  const open = createApi({ service: "signal-cli", baseUrl, advice: ADVICE });
  return {
    name: "signal",
    limit: 2000,
    measure: (text) => Buffer.byteLength(text),
    measureMarkdown: measureAs(SIGNAL),
    checkRecipient: (to) => void toRecipient(to),
    async send({ to, text, format, idempotencyKey }, signal) {
      const content = format === "markdown" ? toContent(await renderMarkdown(text, SIGNAL)) : { message: text };
      const params = { account, ...toRecipient(to), ...content };
      const call = await open(signal);
      const { body } = await call("POST", "/api/v1/rpc", {
        jsonrpc: "2.0",
        id: idempotencyKey,
        method: "send",
        params,
      });
      return { messageId: readMessageId(body) };
    },
  };
}

const styles = createStyles(["BOLD", "ITALIC", "STRIKETHROUGH", "MONOSPACE"]);
const monospace = (plain: string): string => styles.mark("MONOSPACE")(styles.text(plain));

const SIGNAL: Dialect = {
  ...PLAIN,
  text: styles.text,
  strong: styles.mark("BOLD"),
  em: styles.mark("ITALIC"),
  del: styles.mark("STRIKETHROUGH"),
  code: monospace,
  codeBlock: monospace,
  heading: styles.mark("BOLD"),
  address: styles.text,
  length: (rendered) => Buffer.byteLength(styles.text(rendered)),
};

/** `textStyle` has `start:length:STYLE` in UTF-16 code units: https://github.com/AsamK/signal-cli/blob/master/man/signal-cli.1.adoc */
function toContent(rendered: string): { message: string; textStyle?: string[] } {
  let message = "";
  const textStyle: string[] = [];
  for (const piece of styles.split(rendered)) {
    for (const style of piece.styles) textStyle.push(`${message.length}:${piece.text.length}:${style}`);
    message += piece.text;
  }
  return textStyle.length > 0 ? { message, textStyle } : { message };
}

type Recipient = { recipient: string[] } | { username: string[] } | { groupId: string };

const NUMBER_OR_ID = /^(?:\+\d{5,15}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i;
const USERNAME = /^(?:u:)?([a-z_]\w{2,31}\.\d{2,20})$/i;
/** 32 bytes as base64, or the 16 of an old group. */
const GROUP_ID = /^(?:group:)?([a-z\d+/]{43}=|[a-z\d+/]{22}==)$/i;

function toRecipient(to: string): Recipient {
  if (NUMBER_OR_ID.test(to)) return { recipient: [to] };
  const username = USERNAME.exec(to)?.[1];
  if (username) return { username: [username] };
  const groupId = GROUP_ID.exec(to)?.[1];
  if (groupId) return { groupId };
  throw new DriverError(
    "Expected a number such as +15551234567, a username such as ada.42, or a group id as `signal-cli listGroups` shows it.",
    { retryable: false },
  );
}

/** Signal identifies a message by its timestamp. */
function readMessageId({ error, result }: Record<string, unknown>): string {
  if (isObject(error)) throw toDriverError(error);
  if (!isObject(result)) throw toUnreadable("signal-cli");
  if (!wasDelivered(result)) throw toDriverError({ data: { response: result } });
  return requireId(result["timestamp"], "signal-cli");
}

/** Whether any recipient got the message. If only some of a group did, a retry would send it to them again. */
export function wasDelivered(result: Record<string, unknown>): boolean {
  const results = readResults(result);
  return results.length === 0 || results.some(({ type }) => type === "SUCCESS");
}

/** The error for a JSON-RPC error, by the results of its recipients or else by its code. */
export function toDriverError({ code, data }: Record<string, unknown>): DriverError {
  const results = readResults(toObject(data)["response"]);
  const retryable = results.find(({ type }) => RETRYABLE_RESULTS.has(type));
  const reason = (retryable ?? results[0])?.type ?? code;
  const waits = results.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return toCodeRefusal("signal-cli", reason, {
    advice: ADVICE.get(reason),
    retryable: retryable !== undefined || RETRYABLE_CODES.has(Number(code)),
    retryAfterMs: waits.length > 0 ? Math.max(...waits) * 1000 : undefined,
  });
}

/** The result of a message for one recipient: https://github.com/AsamK/signal-cli, JsonSendMessageResult. */
interface SendResult {
  type: string;
  retryAfterSeconds: number | undefined;
}

function readResults(response: unknown): SendResult[] {
  return toObjects(toObject(response)["results"]).map(({ type, retryAfterSeconds }) => ({
    type: String(type),
    retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined,
  }));
}
