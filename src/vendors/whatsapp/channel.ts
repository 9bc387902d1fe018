import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, parseObject, toObject, toObjects, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import {
  createApi,
  type HttpAnswer,
  PAGE_ADDRESS,
  recipientCheck,
  type Refusal,
  requireId,
  splitRecipient,
} from "../kit/http.ts";
import { createOpenFile } from "../kit/files.ts";
import { WHATSAPP } from "../kit/text/dialects.ts";
import { measureAs, renderMarkdown } from "../kit/text/markdown.ts";

const schema = {
  description: "WhatsApp's Cloud API.",
  ...objectSchema(["token", "phoneNumberId"], {
    token: {
      ...NON_BLANK,
      description: "Access token of a system user with the whatsapp_business_messaging permission.",
    },
    phoneNumberId: {
      type: "string",
      pattern: "^\\d+$",
      description: "Id of the business phone number that sends; not the number itself.",
    },
    version: { type: "string", pattern: "^v\\d+\\.\\d+$", description: "Version of the Graph API. Default: v24.0." },
    baseUrl: { ...HTTP_URL, description: "For tests and proxies. Default: https://graph.facebook.com." },
  }),
} as const;

type WhatsappOptions = FromSchema<typeof schema>;

export const whatsapp: ChannelDefinition<WhatsappOptions> = {
  schema,
  create: createWhatsapp,
  about: {
    to: "phone number; with `:wamid.…` an answer to that message",
    afterCrash: "may come twice",
    testedAgainst: "a double of the Cloud API",
  },
};

/** Codes that say nothing against the message. Most of them have HTTP status 400. */
const RETRYABLE_CODES = new Set([
  1, // unknown error, or the API is down
  2, // the API is down
  4, // too many calls by this app
  80_007, // too many calls by this business account
  130_429, // too many messages by this number
  131_000, // something went wrong
  131_016, // the service is overloaded
  131_056, // too many messages to this recipient
  131_057, // the account is in maintenance
  133_004, // the server is unavailable
  133_016, // too many attempts to register
]);

const CHECK_TOKEN = "Check channels.whatsapp.token.";
const CHECK_PERMISSION = "Give the token the whatsapp_business_messaging permission.";

const ADVICE = new Map([
  [0, CHECK_TOKEN],
  [3, CHECK_PERMISSION],
  [10, CHECK_PERMISSION],
  [100, "Check channels.whatsapp.phoneNumberId and the recipient."],
  [190, CHECK_TOKEN],
  [200, CHECK_PERMISSION],
  [131_021, "The recipient is the sending number itself."],
  [131_026, "The recipient cannot be reached: not on WhatsApp, or not accepting messages from businesses."],
  [131_030, "Add the recipient to the allowed list of the test number."],
  [131_042, "Check the payment method of the business account."],
  [131_047, "The recipient last wrote more than 24 hours ago: WhatsApp accepts free text only until then."],
  [131_048, "Too many recipients reported messages of this number as spam."],
]);

/** Where an answer has no code. */
const ADVICE_BY_STATUS = new Map([
  [401, CHECK_TOKEN],
  [403, CHECK_PERMISSION],
  [404, "Check channels.whatsapp.phoneNumberId, version and baseUrl."],
]);

/** Base64, which has `/`. */
const MESSAGE_ID = "wamid\\.[\\w=+/-]{1,256}";

/**
 * Sends through WhatsApp's Cloud API. It has no idempotency keys, so a message whose answer was lost may arrive twice. Free
 * text reaches only people who wrote within the last 24 hours.
 */
export function createWhatsapp({
  token,
  phoneNumberId,
  version = "v24.0",
  baseUrl = "https://graph.facebook.com",
}: WhatsappOptions): ChannelDriver {
  const open = createApi({ service: "WhatsApp", baseUrl, root: `/${version}/${phoneNumberId}`, token, explain });
  const openMedia = createApi({ service: "WhatsApp", baseUrl, root: `/${version}`, token, explain });
  return {
    name: "whatsapp",
    openFile: createOpenFile({
      service: "WhatsApp",
      authorize: openMedia.authorize,
      withCredential: ["lookaside.fbsbx.com"],
      async locate({ id }, { signal }) {
        const { body } = await (await openMedia(signal))("GET", `/${requireId(id, "WhatsApp")}`);
        return requireId(body["url"], "WhatsApp", PAGE_ADDRESS);
      },
    }),
    limit: 4096,
    measureMarkdown: measureAs(WHATSAPP),
    checkRecipient: recipientCheck(
      new RegExp(`^\\+?\\d{5,15}(?::${MESSAGE_ID})?$`),
      "a phone number with its country code such as +15551234567; with :wamid.… an answer to that message",
    ),
    addressOf: (to) => splitRecipient(to).place,
    async send({ to, text, format }, signal) {
      const { place: number, message } = splitRecipient(to);
      const call = await open(signal);
      const { body } = await call("POST", "/messages", {
        messaging_product: "whatsapp",
        recipient_type: "individual",
        to: number,
        ...(message && { context: { message_id: message } }),
        type: "text",
        // A preview would fetch an untrusted link and show what it says.
        text: { body: format === "markdown" ? await renderMarkdown(text, WHATSAPP) : text, preview_url: false },
      });
      return {
        messageId: requireId(toObjects(body["messages"])[0]?.["id"], "WhatsApp", new RegExp(`^${MESSAGE_ID}$`)),
      };
    },
  };
}

/**
 * Explains a refusal by its code rather than its status.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
 */
export function explain({ status, headers, body }: HttpAnswer): Refusal {
  const { code } = toObject(body["error"]);
  if (typeof code !== "number") return { advice: ADVICE_BY_STATUS.get(status) };
  // The service's own message is not used: that of code 190 quotes the token.
  const reason = `error ${code}`;
  if (RETRYABLE_CODES.has(code)) return { reason, retryable: true, retryAfterMs: toWait(headers) };
  return { reason, advice: ADVICE.get(code) };
}

/** The time until the business account may call again, in minutes. https://developers.facebook.com/docs/graph-api/overview/rate-limiting */
function toWait(headers: Headers): number | undefined {
  const usage = Object.values(parseObject(headers.get("x-business-use-case-usage") ?? "")).flatMap(toObjects);
  const minutes = Math.max(0, ...usage.map((one) => Number(one["estimated_time_to_regain_access"]) || 0));
  return minutes > 0 ? minutes * 60_000 : undefined;
}
