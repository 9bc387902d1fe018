import type { DriverError } from "../../errors.ts";
import { parseRetryAfter } from "../../shared/http-status.ts";
import { type HttpAnswer, toLine, toRefusal } from "../http.ts";

const ADVICE = new Map([
  [401, "Check channels.github.token or app."],
  [403, "Give the token write access to the repository's issues and pull requests, or discussions."],
  [404, "Check the recipient, and that the token can see the repository."],
  [410, "The repository has no issues."],
]);

/** GitHub's advice for a secondary limit without a time. */
const SECONDARY_LIMIT_MS = 60_000;

/** The error for an answer that is a refusal. A rate limit is also answered by 403. */
export function toDriverError(answer: HttpAnswer, isRevoked: boolean): DriverError {
  const retryAfterMs = toRateLimit(answer);
  return toRefusal("GitHub", answer, {
    reason: answer.body["message"],
    advice: retryAfterMs === undefined ? ADVICE.get(answer.status) : undefined,
    ...((isRevoked || retryAfterMs !== undefined) && { retryable: true, retryAfterMs }),
  });
}

/** https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit */
function toRateLimit({ status, headers, body }: HttpAnswer): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  if (headers.has("retry-after")) return parseRetryAfter(headers.get("retry-after"));
  if (headers.get("x-ratelimit-remaining") === "0") {
    const reset = Number(headers.get("x-ratelimit-reset")) * 1000 - Date.now();
    return Number.isFinite(reset) ? Math.max(0, reset) : SECONDARY_LIMIT_MS;
  }
  return /secondary rate limit|abuse/i.test(toLine(body["message"])) ? SECONDARY_LIMIT_MS : undefined;
}
