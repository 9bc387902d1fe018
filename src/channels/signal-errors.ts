import { isObject } from "../config/is-object.ts";
import { DriverError } from "../errors.ts";

/** What became of the message for one of its recipients: https://github.com/AsamK/signal-cli, JsonSendMessageResult. */
interface Outcome {
  type: string;
  retryAfterSeconds: number | undefined;
}

/** Codes of signal-cli's own and of JSON-RPC that say nothing against the message: https://github.com/AsamK/signal-cli. */
const PASSING_CODES = new Set([
  -3, // an error of input or output
  -5, // a rate limit
  -32_603, // anything unforeseen, Signal's servers out of reach among them
]);

const PASSING_OUTCOMES = new Set(["NETWORK_FAILURE", "RATE_LIMIT_FAILURE"]);

const ADVICE = new Map<unknown, string>([
  ["IDENTITY_FAILURE", "The recipient's safety number has changed: trust it with `signal-cli trust`."],
  ["UNREGISTERED_FAILURE", "The recipient is not on Signal."],
  ["RATE_LIMIT_FAILURE", "Signal may want a captcha solved: see `signal-cli submitRateLimitChallenge`."],
  [-1, "Check the recipient, and that the account may write to it."],
  [-4, "The recipient's safety number has changed: trust it with `signal-cli trust`."],
  [-32_602, "Check channels.signal.account."],
]);

/** Whether anyone got it. Where some of a group did not, another try would reach the others twice. */
export function wasTaken(result: Record<string, unknown>): boolean {
  const outcomes = readOutcomes(result);
  return outcomes.length === 0 || outcomes.some(({ type }) => type === "SUCCESS");
}

/** Sorts a JSON-RPC error by whether another try can help: by what became of each recipient, else by its code. */
export function toDriverError(error: Record<string, unknown>): DriverError {
  const outcomes = readOutcomes(isObject(error["data"]) ? error["data"]["response"] : undefined);
  const passing = outcomes.find(({ type }) => PASSING_OUTCOMES.has(type));
  const reason = (passing ?? outcomes[0])?.type ?? error["code"];
  const kind = passing || PASSING_CODES.has(Number(error["code"])) ? "passing" : "lasting";
  // The words of the error may hold the recipient.
  const message = `signal-cli refused the message: ${String(reason)}. ${ADVICE.get(reason) ?? ""}`.trim();
  return new DriverError(kind, message, { retryAfterMs: longestWaitMs(outcomes) });
}

function longestWaitMs(outcomes: Outcome[]): number | undefined {
  const seconds = outcomes.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return seconds.length > 0 ? Math.max(...seconds) * 1000 : undefined;
}

function readOutcomes(result: unknown): Outcome[] {
  const outcomes: unknown = isObject(result) ? result["results"] : undefined;
  if (!Array.isArray(outcomes)) return [];
  return outcomes.filter(isObject).map(({ type, retryAfterSeconds }) => ({
    type: String(type),
    retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined,
  }));
}
