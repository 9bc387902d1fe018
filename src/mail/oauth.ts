import { hash } from "node:crypto";
import { MailError, messageOf } from "../core/errors.ts";
import { type Expiring, keepWhileValid, type Kept } from "../core/shared/time.ts";
import { isLoopback, isRetryableStatus } from "../core/shared/net/network.ts";
import { parseObject } from "../core/shared/json.ts";
import { cleanLine } from "./message/text.ts";
import type { RefreshTokens } from "../core/ports/mail-source.ts";

export interface OAuthClient {
  /** https, unless it is on this machine. */
  tokenUrl: string;
  clientId: string;
  clientSecret?: string;
  /** Separated by spaces. */
  scope?: string;
}

interface RefreshOptions extends OAuthClient {
  refreshToken: string;
  /** The error of a refusal, where the server says more than OAuth does. */
  toRefusal?(answer: FormAnswer): MailError;
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
  toRefusal,
}: RefreshOptions): Kept<[stored?: RefreshTokens]> {
  /** A server may replace it with each access token. */
  let replacement: string | undefined;
  let isStored = true;
  return keepWhileValid(refresh, MARGIN_MS);

  async function refresh(stored?: RefreshTokens): Promise<Expiring> {
    const requestedAt = Date.now();
    const current = replacement ?? (await stored?.find(configured)) ?? configured;
    let answered = await request(current);
    // A stored token can be from an old backup.
    if (answered.answer.error === "invalid_grant" && current !== configured) answered = await request(configured);
    const { status, answer, isTemporary } = answered;
    const { host } = new URL(tokenUrl);
    const error = answered.reason?.replace(/\.$/, "") ?? `status ${status}`;
    if (status === 401 || (answer.error && !isTemporary)) {
      if (toRefusal) throw toRefusal(answered);
      throw new MailError("login", `${host} refuses an access token: ${error}. Run \`npx hookline mail setup\` again.`);
    }
    const { access_token: token, expires_in: seconds, refresh_token: next } = answer;
    if (status !== 200 || typeof token !== "string") {
      throw new MailError("network", `No access token from ${host}: ${error}`);
    }
    if (typeof next === "string" && next && next !== current) {
      replacement = next;
      isStored = false;
    }
    // If that fails, the next attempt stores it, also when the server does not replace it again.
    if (replacement !== undefined && !isStored) {
      await stored?.replace(configured, replacement);
      isStored = true;
    }
    return { value: token, endsAt: requestedAt + (Number(seconds) || DEFAULT_SECONDS) * 1000 };
  }

  function request(refreshToken: string): Promise<FormAnswer> {
    const form = { grant_type: "refresh_token", refresh_token: refreshToken, scope };
    return postForm(tokenUrl, { ...form, client_id: clientId, client_secret: clientSecret });
  }
}

export type AccessTokens = ReturnType<typeof createAccessTokens>;

/** By the store that keeps their refresh tokens, then by what they are made from. */
const shared = new WeakMap<object, Map<string, AccessTokens>>();

/**
 * The access tokens of a refresh token, the same for all that use one store, also after a reload: a server that replaces a
 * refresh token may refuse the old one to others. Without a store they are not shared.
 */
export function shareAccessTokens(options: Omit<RefreshOptions, "toRefusal">, store: object | undefined): AccessTokens {
  if (!store) return createAccessTokens(options);
  const { refreshToken, tokenUrl, clientId, clientSecret, scope } = options;
  const key = hash("sha256", JSON.stringify([refreshToken, tokenUrl, clientId, clientSecret, scope]));
  const known = shared.get(store) ?? new Map<string, AccessTokens>();
  shared.set(store, known);
  const tokens = known.get(key) ?? createAccessTokens(options);
  known.set(key, tokens);
  return tokens;
}

export interface FormAnswer {
  status: number;
  answer: Record<string, unknown>;
  /** The code and the words of a refusal, in one line. */
  reason?: string;
  /** The same request may succeed later. */
  isTemporary: boolean;
}

/** Posts a form to an OAuth server; undefined fields are left out. Rejects with a `MailError` if there is no answer. */
export async function postForm(url: string, fields: Record<string, string | undefined>): Promise<FormAnswer> {
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
    return { status, answer, reason: explain(answer, fields), isTemporary };
  } catch (error) {
    // `fetch` gives the reason in the cause.
    throw toFailure(messageOf((error instanceof TypeError && error.cause) || error), error);
  }
}

const MAX_REASON = 400;
/** The fields of a form that are no secrets. */
const PUBLIC_FIELDS = ["grant_type", "client_id", "scope", "redirect_uri"];

/** Some servers quote what was sent. */
function explain(
  { error, error_description: description }: Record<string, unknown>,
  fields: Record<string, string | undefined>,
): string | undefined {
  if (typeof error !== "string") return undefined;
  const secrets = Object.entries(fields).flatMap(([name, value]) => (!PUBLIC_FIELDS.includes(name) && value) || []);
  const words = typeof description === "string" ? `${error}: ${description}` : error;
  return cleanLine(
    secrets.reduce((text, secret) => text.replaceAll(secret, "…"), words),
    MAX_REASON,
  );
}
