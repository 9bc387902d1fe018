import { createSign } from "node:crypto";
import { DriverError } from "../../errors.ts";
import { createTokenSource, request, type Token, type TokenSource, toRefusal } from "../http.ts";

export interface GithubApp {
  id: string;
  installation: string;
  /** PEM, with line ends or with `\n` for them. */
  key: string;
}

/** The permissions of a token. The installation must have them. */
export type Permissions = Record<string, "read" | "write">;

/** The tokens of one installation of a GitHub App: each lasts an hour. */
export function createAppTokens(app: GithubApp, baseUrl: string, permissions: Permissions): TokenSource {
  return createTokenSource("GitHub", (signal) => fetchToken(app, { baseUrl, permissions }, signal));
}

async function fetchToken(
  app: GithubApp,
  { baseUrl, permissions }: { baseUrl: string; permissions: Permissions },
  signal: AbortSignal,
): Promise<Token> {
  const answer = await request({
    service: "GitHub",
    url: `${baseUrl.replace(/\/$/, "")}/app/installations/${app.installation}/access_tokens`,
    headers: toHeaders(signToken(app, Math.floor(Date.now() / 1000))),
    body: { permissions },
    signal,
  });
  const { token, expires_at: expiresAt, message } = answer.body;
  if (answer.status === 201 && typeof token === "string") return { token, expiresAt: Date.parse(String(expiresAt)) };
  throw toRefusal("GitHub", answer, {
    reason: message,
    advice: "Check channels.github.app: its id, key, installation and permissions.",
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

/** The app's proof of itself, a JWT. Its times allow for a clock that is a minute off. */
function signToken({ id, key }: GithubApp, now: number): string {
  const claims = { iat: now - 60, exp: now + 540, iss: id };
  const signed = [{ alg: "RS256", typ: "JWT" }, claims].map(encode).join(".");
  try {
    return `${signed}.${createSign("RSA-SHA256").update(signed).sign(key.replaceAll("\\n", "\n"), "base64url")}`;
  } catch {
    // The cause may quote the key.
    throw new DriverError("channels.github.app.key is not a private key. Set the PEM file's whole text.", {
      retryable: false,
    });
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
