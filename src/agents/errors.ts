import type { APICallError } from "ai";
import { codeOf, DriverError, type ModelFailure } from "../core/errors.ts";
import { parseObject, toObject } from "../core/shared/json.ts";
import { isRetryableStatus, parseRetryAfter } from "../core/shared/net/network.ts";
import { FailedAnswer, WEB_PAGE } from "./model-answer.ts";

/** The fields of the AI SDK's errors. Without a status there was no response, and with `isRetryable` the service was not reached. */
type CallFailure = Pick<Error, "message"> &
  Partial<Pick<APICallError, "statusCode" | "responseHeaders" | "responseBody" | "isRetryable">>;

const MAX_LENGTH = 300;

/**
 * The error for a failed model call. Its message is one short line. The original error is not the cause, since it holds
 * the whole prompt. `secrets`: key and header values.
 */
export function toDriverError(
  error: unknown,
  call: { provider: string; secrets: string[]; hasImages?: boolean },
): DriverError {
  const failure: CallFailure = error instanceof Error ? error : { message: String(error) };
  const modelFailure = call.hasImages && refusesImages(failure) ? "images" : classify(failure);
  const reason = withoutSecrets(failure.message, call.secrets);
  const sentence = `${call.provider} ${describe(failure, `agents.providers.${call.provider}`)}`;
  return new DriverError((reason === "" ? sentence : `${sentence}: ${reason}`).slice(0, MAX_LENGTH), {
    retryable: canRetry(failure) && (modelFailure === undefined || modelFailure === "unavailable"),
    retryAfterMs: readRetryAfter(failure.responseHeaders ?? {}),
    modelFailure,
  });
}

function describe(failure: CallFailure, settings: string): string {
  const { statusCode } = failure;
  if (statusCode === undefined) return "gave no answer";
  const isPage = failure instanceof FailedAnswer && failure.what === WEB_PAGE;
  const answered = `answered ${failure instanceof FailedAnswer ? `200 with ${failure.what}` : statusCode}`;
  if (isPage) return `${answered} (check ${settings}.baseUrl)`;
  if (isRedirect(statusCode)) return `${answered} (redirects are not followed: check ${settings}.baseUrl)`;
  return statusCode === 401 || statusCode === 403 ? `${answered} (check ${settings}.apiKey)` : answered;
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

function canRetry({ statusCode, responseBody = "" }: CallFailure): boolean {
  if (statusCode === undefined) return true;
  // Another attempt would be redirected again.
  if (isRedirect(statusCode)) return false;
  return isRetryableStatus(statusCode) || readError(responseBody).codes.some((code) => UNREADABLE_CALL_CODES.has(code));
}

const TOO_LONG = /context_length_exceeded|prompt is too long|maximum context length/i;
/** Words of a refusal, which may also be quoted from the prompt: then the next request says more. */
const ABOUT_IMAGES = /image|vision|picture|multi-?modal|modalit|media type|content type/i;
/** Servers of open models answer 500. */
const NO_IMAGES =
  /(?:image|vision)[^.]{0,40}(?:not support|unsupported)|(?:not|n't) support[^.]{0,40}(?:image|vision)/i;

/** Whether the model of a request with pictures takes none, or not these. */
function refusesImages({ statusCode = 0, responseBody = "", message }: CallFailure): boolean {
  const { codes, words } = readError(responseBody);
  const isRefused = [400, 404, 413, 415, 422].includes(statusCode);
  const pattern = isRefused ? ABOUT_IMAGES : statusCode >= 500 ? NO_IMAGES : undefined;
  return pattern !== undefined && [...codes, ...words, message].some((text) => pattern.test(text));
}

const QUOTA_CODES = new Set(["insufficient_quota", "billing_error"]);
/** The model wrote a call that the provider could not read: another answer may be right. */
const UNREADABLE_CALL_CODES = new Set(["tool_use_failed"]);
const UNKNOWN_MODEL_CODES = new Set(["model_not_found"]);

/** By the code that the answer names, then by its status. Words may be quoted from the prompt, so they only count in a 4xx. */
function classify({ statusCode, responseBody = "", message, isRetryable }: CallFailure): ModelFailure | undefined {
  if (statusCode === undefined) return isRetryable ? "unavailable" : undefined;
  const { codes, words } = readError(responseBody);
  const isClientError = statusCode >= 400 && statusCode < 500 && statusCode !== 429;
  if (isClientError && [...codes, ...words, message].some((text) => TOO_LONG.test(text))) return "too-long";
  if (statusCode === 402 || codes.some((code) => QUOTA_CODES.has(code))) return "quota";
  if (statusCode === 404 || codes.some((code) => UNKNOWN_MODEL_CODES.has(code))) return "unknown-model";
  return statusCode === 429 || statusCode >= 500 ? "unavailable" : undefined;
}

/** In characters: a longer answer is no error of an API. */
const MAX_ERROR_BODY = 64 * 1024;

/** `{ error: { code, type, message } }`, as OpenAI and Anthropic answer. Other servers leave some of it out. */
function readError(body: string): { codes: string[]; words: string[] } {
  if (body.length > MAX_ERROR_BODY) return { codes: [], words: [] };
  const { error, message: own } = parseObject(body);
  const { code, type, message } = toObject(error);
  return { codes: toTexts([code, type]), words: toTexts([error, own, message]) };
}

function toTexts(values: unknown[]): string[] {
  return values.filter((value) => typeof value === "string");
}

/** `retry-after-ms` is OpenAI's more exact form. */
function readRetryAfter(headers: Record<string, string>): number | undefined {
  const exact = Number.parseFloat(headers["retry-after-ms"] ?? "");
  return exact >= 0 ? exact : parseRetryAfter(headers["retry-after"]);
}

/** Errors of a system that has no room for another process or file at the moment. */
const RETRYABLE_START_ERRORS = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC"]);

/** The error for a program that could not be started. Only the code is shown: the message may quote the environment. */
export function toStartError(name: string, error: unknown): DriverError {
  const code = String(codeOf(error) ?? "unknown error");
  return new DriverError(`${name} could not be started (${code}): check agents.providers.${name}.command.`, {
    retryable: RETRYABLE_START_ERRORS.has(code),
  });
}

/** The warning about a text that was cut short. Throws a `DriverError` if there is no text. */
export function warnOfIncomplete(
  name: string,
  { text, reason, retryable }: { text: string; reason: string; retryable: boolean },
): string {
  if (text.trim() !== "") return `The reply may be incomplete: it ended with "${reason}".`;
  throw new DriverError(`${name} ended with "${reason}" before it wrote a reply.`, { retryable });
}

/** Throws a retryable `DriverError` when the turn was aborted. */
export function assertNotAborted(name: string, signal: AbortSignal): void {
  if (signal.aborted) throw new DriverError(`The run was stopped before ${name} replied.`, { retryable: true });
}

/** The end of what a program wrote, as one line for an error message. */
export function toProgramMessage(text: string, secrets: string[]): string {
  return withoutSecrets(text, secrets).slice(-MAX_LENGTH);
}

/** A key by its prefix, or one that is masked with asterisks. */
const KEY_LIKE = /\b(?:sk|pk|rk)[-_][\w*.-]{4,}|[^\s*]{0,40}\*{3,}\S*/gi;
const URL_CREDENTIALS = /(https?:\/\/)[^\s/@]+@/gi;
const URL_QUERY = /(https?:\/\/[^\s?#]+)[?#][^\s]*/gi;

/** A shorter value is no secret, and could be part of an ordinary word. */
const MIN_SECRET_LENGTH = 6;

/** One line without the given secrets. Many providers quote the key that they refuse, whole or masked. */
export function withoutSecrets(message: string, secrets: string[]): string {
  return secrets
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
    .reduce((text, secret) => text.replaceAll(secret, "[redacted]"), message)
    .replaceAll(KEY_LIKE, "[redacted]")
    .replaceAll(URL_CREDENTIALS, "$1")
    .replaceAll(URL_QUERY, "$1")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** The part of a turn's `provider/model` after the provider. Throws a permanent `DriverError` without one. */
export function requireModelId(provider: string, model: string | undefined): string {
  const prefix = `${provider}/`;
  if (model?.startsWith(prefix) && model.length > prefix.length) return model.slice(prefix.length);
  throw new DriverError(`Expected a model of the form ${prefix}<model>, got "${model ?? ""}".`, { retryable: false });
}
