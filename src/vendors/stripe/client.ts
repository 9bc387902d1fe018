import type { ApiAccess } from "../../core/ports/vendor.ts";
import { openCalls } from "../kit/hook-calls.ts";
import type { Call } from "../kit/http.ts";

/** Completes "The token needs …". */
export const KEY_ACCESS = "write access to webhook endpoints, and read access to events for catch-up";

/** The next step for the operator. A limit has the status 429, which is retryable. */
const ADVICE = new Map([
  [401, "Check the API key."],
  [403, `Give the API key ${KEY_ACCESS}.`],
  [404, "The API key may be of another account, or of the other mode: live or test."],
]);

/** `idempotencyKey`: Stripe answers a known one with its first answer. */
export function openStripe(access: ApiAccess, idempotencyKey?: string): Call {
  const { baseUrl = "https://api.stripe.com" } = access;
  return openCalls(access, {
    service: "Stripe",
    baseUrl,
    root: "/v1",
    headers: (token) => ({
      authorization: `Bearer ${token}`,
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    }),
    advice: ADVICE,
  });
}
