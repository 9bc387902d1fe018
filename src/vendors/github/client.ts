import { createSign } from "node:crypto";
import { DriverError } from "../../core/errors.ts";
import { readOwn, toObject, toObjects } from "../../core/shared/json.ts";
import {
  type Call,
  createApi,
  type HttpAnswer,
  type OpenApi,
  type Refusal,
  request,
  requireId,
  type TokenContext,
  type TokenSource,
  toLine,
  toRefusal,
  untilReset,
} from "../kit/http.ts";
import { createTokenSource } from "../kit/token.ts";

interface GithubApp {
  id: string;
  /** Default: the one that each repository belongs to. */
  installation?: string;
  /** PEM, with line ends or with `\n` for them. */
  key: string;
}

/** The permissions that an app's token needs to write, by the kind of place. The installation must have them. */
const PERMISSIONS = {
  issue: { issues: "write", pull_requests: "write" },
  commit: { contents: "read" },
  discussion: { discussions: "write" },
  /** What the installation may: a refused permission would refuse the token. */
  repository: undefined,
} as const;

/** What a recipient is: `acme/app` and the kind of place there. */
interface GithubRecipient {
  kind: keyof typeof PERMISSIONS;
  repository: string;
}

/** With either a token or an app. */
export function createGithubApi(
  { baseUrl, token, app }: { baseUrl: string; token?: string; app?: GithubApp },
  parse: (to: string) => GithubRecipient,
): OpenApi {
  const findTokens = app && createAppTokens(app, baseUrl);
  return createApi({
    service: "GitHub",
    baseUrl,
    token: findTokens ? (to, context) => findTokens(parse(to), context) : token,
    headers: toHeaders,
    explain: explainGithub,
  });
}

export function toHeaders(token: string): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    accept: "application/vnd.github+json",
    "x-github-api-version": "2022-11-28",
    "user-agent": "hookline",
  };
}

/** Most apps have a few installations. Those of more repositories are asked for again. */
const MAX_KEPT = 1000;

type FindTokens = (recipient: GithubRecipient, context: TokenContext) => Promise<TokenSource>;

/** The tokens of the installation that a place belongs to: the configured one, that of the event, or that of the repository. */
function createAppTokens(app: GithubApp, baseUrl: string): FindTokens {
  /** By installation and kind of place. */
  const tokens = new Map<string, TokenSource>();
  /** By repository. */
  const installations = new Map<string, string>();
  return async function findTokens({ kind, repository }, { signal, readEvent }) {
    const key = repository.toLowerCase();
    // What an event says is not kept: it holds for that event only.
    const installation =
      app.installation ??
      toInstallation(await readEvent?.(), key) ??
      installations.get(key) ??
      (await findInstallation(repository, signal));
    const id = `${installation} ${kind}`;
    const source = tokens.get(id) ?? createInstallationTokens({ ...app, installation }, baseUrl, kind);
    keep(tokens, id, source);
    // The app may have been installed again, under another number.
    const get: TokenSource["get"] = (ended) =>
      source.get(ended).catch((error: unknown) => {
        installations.delete(key);
        throw error;
      });
    return { get, forget: source.forget };
  };

  async function findInstallation(repository: string, signal: AbortSignal): Promise<string> {
    const found = await fetchInstallation(app, { baseUrl, repository, signal });
    keep(installations, repository.toLowerCase(), found);
    return found;
  }
}

function keep<Value>(kept: Map<string, Value>, key: string, value: Value): void {
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
}

/** The installation that an event names, if it is about this repository. */
function toInstallation(event: object | undefined, repository: string): string | undefined {
  const payload = toObject(readOwn(event, "payload"));
  const name = toObject(payload["repository"])["full_name"];
  const { id } = toObject(payload["installation"]);
  const isOfRepository = typeof name === "string" && name.toLowerCase() === repository;
  return isOfRepository && Number.isSafeInteger(id) && Number(id) > 0 ? String(id) : undefined;
}

/** Sends a request as the app itself: a GET, or a POST with a body. */
function requestAs(
  app: GithubApp,
  url: string,
  { body, signal }: { body?: object; signal: AbortSignal },
): Promise<HttpAnswer> {
  const headers = toHeaders(signAppToken(app, Math.floor(Date.now() / 1000)));
  return request({ service: "GitHub", url, method: body ? "POST" : "GET", headers, body, signal });
}

/** https://docs.github.com/en/rest/apps/apps#get-a-repository-installation-for-the-authenticated-app */
async function fetchInstallation(
  app: GithubApp,
  { baseUrl, repository, signal }: { baseUrl: string; repository: string; signal: AbortSignal },
): Promise<string> {
  const answer = await requestAs(app, `${baseUrl.replace(/\/$/, "")}/repos/${repository}/installation`, { signal });
  if (answer.status === 200) return requireId(answer.body["id"], "GitHub");
  throw toRefusal("GitHub", answer, {
    ...explainGithub(answer),
    advice: `Install the app on ${repository}, and check channels.github.app: its id and key.`,
  });
}

/** The tokens of one installation of a GitHub App: each lasts an hour. */
function createInstallationTokens(
  app: GithubApp & { installation: string },
  baseUrl: string,
  kind: GithubRecipient["kind"],
): TokenSource {
  return createTokenSource("GitHub", async (signal) => {
    const url = `${baseUrl.replace(/\/$/, "")}/app/installations/${app.installation}/access_tokens`;
    const answer = await requestAs(app, url, { body: { permissions: PERMISSIONS[kind] }, signal });
    const { token, expires_at: expiresAt, message } = answer.body;
    if (answer.status === 201 && typeof token === "string")
      return { value: token, endsAt: Date.parse(String(expiresAt)) };
    throw toRefusal("GitHub", answer, {
      reason: message,
      advice: "Check channels.github.app: its id, key, installation and permissions.",
    });
  });
}

/** The app's proof of itself, a JWT. Its times allow for a clock that is a minute off. */
export function signAppToken({ id, key }: GithubApp, now: number): string {
  const claims = { iat: now - 60, exp: now + 540, iss: id };
  const parts = [{ alg: "RS256", typ: "JWT" }, claims];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  try {
    return `${signed}.${createSign("RSA-SHA256").update(signed).sign(key.replaceAll("\\n", "\n"), "base64url")}`;
  } catch {
    // The cause may quote the key.
    throw new DriverError("channels.github.app.key is not a private key. Set the PEM file's whole text.", {
      retryable: false,
    });
  }
}

/** Asks the GraphQL API. Resolves to the data of an answer. Rejects with a `DriverError`. */
export type Ask = (query: string, variables: object) => Promise<Record<string, unknown>>;

/** Statuses that say what the types of GraphQL's errors say. */
const STATUSES = new Map([
  ["NOT_FOUND", 404],
  ["FORBIDDEN", 403],
  ["INSUFFICIENT_SCOPES", 403],
  ["RATE_LIMITED", 429],
]);

export function createAsk(call: Call, baseUrl: string): Ask {
  // GitHub Enterprise Server has https://<host>/api/graphql beside https://<host>/api/v3.
  const path = /\/v3\/?$/.test(baseUrl) ? "/../graphql" : "/graphql";
  return async (query, variables) => {
    const answer = await call("POST", path, { query, variables });
    const [error] = toObjects(answer.body["errors"]);
    if (!error) return toObject(answer.body["data"]);
    const { type, message } = error;
    // Without a type, it is a failure of GitHub's own.
    const status = typeof type === "string" ? (STATUSES.get(type) ?? 422) : 500;
    const refused = { ...answer, status, body: { message } };
    throw toRefusal("GitHub", refused, explainGithub(refused));
  };
}

const ADVICE = new Map([
  [401, "Check channels.github.token or app."],
  [403, "Give the token write access to the repository's issues and pull requests, or discussions."],
  [404, "Check the recipient, and that the token can see the repository."],
  [410, "The repository has no issues."],
]);

/** A rate limit is also answered by 403. */
export function explainGithub(answer: HttpAnswer): Refusal {
  const reason = answer.body["message"];
  const retryAfterMs = toRateLimit(answer);
  if (retryAfterMs !== undefined) return { reason, retryable: true, retryAfterMs };
  return { reason, advice: ADVICE.get(answer.status) };
}

/** GitHub's advice for a secondary limit without a time. */
const SECONDARY_LIMIT_MS = 60_000;

/** https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit */
function toRateLimit({ status, headers, body }: HttpAnswer): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  if (headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0") {
    return untilReset(headers, "x-ratelimit-reset") ?? SECONDARY_LIMIT_MS;
  }
  return /secondary rate limit|abuse/i.test(toLine(body["message"])) ? SECONDARY_LIMIT_MS : undefined;
}
