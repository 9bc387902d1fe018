import { setTimeout as sleep } from "node:timers/promises";
import { MailError, messageOf } from "../errors.ts";
import { type Expiring, keepWhileValid, type Kept } from "../shared/time.ts";
import { isLoopback, isRetryableStatus } from "../shared/network.ts";
import { parseObject } from "../shared/json.ts";
import { cleanLine } from "./message/text.ts";
import type { RefreshTokens } from "./source.ts";

interface OAuthClient {
  /** https, unless it is on this machine. */
  tokenUrl: string;
  clientId: string;
  clientSecret?: string;
  /** Separated by spaces. */
  scope?: string;
}

interface RefreshOptions extends OAuthClient {
  refreshToken: string;
}

/** How long a token is valid if the server does not say. */
const DEFAULT_SECONDS = 300;
/** A token that ends sooner is not used: a login takes a while. */
const MARGIN_MS = 60_000;
const TIMEOUT_MS = 30_000;
const TEMPORARY_ERRORS = ["temporarily_unavailable", "server_error", "slow_down"];

/**
 * Gets access tokens for a refresh token (RFC 6749, 6), and keeps each while it is valid. `get` rejects with a `MailError`, or
 * if a new refresh token cannot be stored.
 */
export function createAccessTokens({
  refreshToken: configured,
  tokenUrl,
  clientId,
  clientSecret,
  scope,
}: RefreshOptions): Kept<[stored?: RefreshTokens]> {
  /** A server may replace it with each access token. */
  let replacement: string | undefined;
  return keepWhileValid(refresh, MARGIN_MS);

  async function refresh(stored?: RefreshTokens): Promise<Expiring> {
    const requestedAt = Date.now();
    const current = replacement ?? (await stored?.find(configured)) ?? configured;
    let answered = await request(current);
    // A stored token can be from an old backup.
    if (answered.answer.error === "invalid_grant" && current !== configured) answered = await request(configured);
    const { status, answer, isTemporary } = answered;
    const { host } = new URL(tokenUrl);
    const error = cleanLine(typeof answer.error === "string" ? answer.error : `status ${status}`, 100);
    if (status === 401 || (answer.error && !isTemporary)) {
      throw new MailError("login", `${host} refuses an access token: ${error}. Run \`webhooks mail setup\` again.`);
    }
    const { access_token: token, expires_in: seconds, refresh_token: next } = answer;
    if (status !== 200 || typeof token !== "string") {
      throw new MailError("network", `No access token from ${host}: ${error}`);
    }
    if (typeof next === "string" && next && next !== current) {
      replacement = next;
      // First, so that it is stored again at the next attempt if that fails.
      await stored?.replace(configured, next);
    }
    return { value: token, endsAt: requestedAt + (Number(seconds) || DEFAULT_SECONDS) * 1000 };
  }

  function request(refreshToken: string): Promise<FormAnswer> {
    const form = { grant_type: "refresh_token", refresh_token: refreshToken, scope };
    return postForm(tokenUrl, { ...form, client_id: clientId, client_secret: clientSecret });
  }
}

interface FormAnswer {
  status: number;
  answer: Record<string, unknown>;
  /** The same request may succeed later. */
  isTemporary: boolean;
}

/** Posts a form to an OAuth server; undefined fields are left out. Rejects with a `MailError` if there is no answer. */
async function postForm(url: string, fields: Record<string, string | undefined>): Promise<FormAnswer> {
  const { host, hostname, protocol } = new URL(url);
  const toFailure = (reason: string, cause?: unknown): MailError =>
    new MailError("network", `No access token from ${host}: ${reason}`, { cause });
  if (protocol !== "https:" && !isLoopback(hostname)) throw toFailure("its URL must begin with https://");
  const given = Object.entries(fields).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { accept: "application/json" },
      body: new URLSearchParams(Object.fromEntries(given)),
      // A redirect must not take the secrets elsewhere.
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { status } = response;
    const answer = parseObject(await response.text());
    const isTemporary = isRetryableStatus(status) || TEMPORARY_ERRORS.includes(String(answer.error));
    return { status, answer, isTemporary };
  } catch (error) {
    // `fetch` gives the reason in the cause.
    throw toFailure(messageOf((error instanceof TypeError && error.cause) || error), error);
  }
}

interface DeviceCodeOptions extends OAuthClient {
  /** Where the codes come from, https unless it is on this machine. */
  deviceUrl: string;
}

/** A consent that a person gives in a browser, on any device. */
export interface DeviceConsent {
  /** The page, and what to enter there. */
  url: string;
  userCode: string;
  /** Resolves to a refresh token. Rejects with a `MailError` if the consent is refused or too late, or with the signal's reason. */
  wait(signal: AbortSignal): Promise<string>;
}

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";
/** If the server does not say. */
const DEFAULT_INTERVAL_SECONDS = 5;
const DEFAULT_EXPIRY_SECONDS = 900;
/** Seconds that `slow_down` adds to the interval. */
const SLOW_DOWN_SECONDS = 5;

/** Asks for access to a mailbox with a device code (RFC 8628). Rejects with a `MailError`. */
export async function requestDeviceCode(options: DeviceCodeOptions): Promise<DeviceConsent> {
  const { clientId, scope } = options;
  const { answer } = await postForm(options.deviceUrl, { client_id: clientId, scope });
  const { device_code: code, user_code: userCode, verification_uri: url, interval, expires_in: expiry } = answer;
  if (typeof code !== "string" || typeof userCode !== "string" || typeof url !== "string") throw refusal(answer.error);
  const waiting = {
    code,
    intervalSeconds: typeof interval === "number" ? interval : DEFAULT_INTERVAL_SECONDS,
    endsAt: performance.now() + (Number(expiry) || DEFAULT_EXPIRY_SECONDS) * 1000,
  };
  return { url: cleanLine(url), userCode: cleanLine(userCode), wait: (signal) => poll(options, waiting, signal) };
}

async function poll(
  { tokenUrl, clientId, clientSecret }: DeviceCodeOptions,
  { code, intervalSeconds, endsAt }: { code: string; intervalSeconds: number; endsAt: number },
  signal: AbortSignal,
): Promise<string> {
  const form = { grant_type: GRANT_TYPE, device_code: code, client_id: clientId, client_secret: clientSecret };
  let seconds = intervalSeconds;
  while (performance.now() < endsAt) {
    await sleep(seconds * 1000, undefined, { signal });
    const { answer, isTemporary } = await postForm(tokenUrl, form);
    if (typeof answer.refresh_token === "string" && answer.refresh_token) return answer.refresh_token;
    if (answer.access_token) throw refusal("no refresh token: the scope offline_access may be missing");
    if (answer.error === "slow_down") seconds += SLOW_DOWN_SECONDS;
    else if (answer.error !== "authorization_pending" && !isTemporary) throw refusal(answer.error);
  }
  throw refusal("expired_token");
}

function refusal(error: unknown): MailError {
  const reason = typeof error === "string" ? cleanLine(error, 100) : "no reason given";
  return new MailError("login", `The consent was not given: ${reason}.`);
}
