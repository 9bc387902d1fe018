import { isObject } from "../config/is-object.ts";
import type { DriverError } from "../errors.ts";
import { toRefusal, type HttpAnswer } from "./http.ts";

/** Refusals that say nothing against the message, most of them under HTTP 400. */
const PASSING_CODES = new Set([
  1, // unknown, or the API is down for a moment
  2, // the API is down for a moment
  4, // too many calls of this app
  80_007, // too many calls of this business account
  130_429, // too many messages of this number
  131_000, // something went wrong
  131_016, // the service is overloaded
  131_056, // too many messages to this recipient
  131_057, // the account is in maintenance
  133_004, // the server is away
  133_016, // too many tries to register
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
  [131_026, "The recipient cannot be reached: not on WhatsApp, or not taking messages of businesses."],
  [131_030, "Add the recipient to the allowed list of the test number."],
  [131_042, "Check the payment method of the business account."],
  [131_047, "The recipient last wrote more than 24 hours ago: free text is refused until they write again."],
  [131_048, "Too many recipients took messages of this number for spam."],
]);

/**
 * Sorts a refusal by its code, of which the status tells little.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
 */
export function toDriverError(answer: HttpAnswer): DriverError {
  const code = findCode(answer.body["error"]);
  if (code === undefined) return toRefusal("WhatsApp", answer);
  return toRefusal("WhatsApp", answer, {
    // The service's own words stay out: those of code 190 quote the token.
    reason: `error ${code}`,
    advice: ADVICE.get(code),
    kind: PASSING_CODES.has(code) ? "passing" : undefined,
  });
}

function findCode(error: unknown): number | undefined {
  return isObject(error) && typeof error["code"] === "number" ? error["code"] : undefined;
}
