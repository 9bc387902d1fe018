import { readOwn, toObject } from "../../core/shared/json.ts";
import { type OpenApi, requireId, type TokenContext, type TokenSource, toUnreadable } from "../kit/http.ts";
import { createTokenSource, signJwt } from "../kit/token.ts";

export interface GithubApp {
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
  /** All permissions of the installation: a refused one would refuse the token. */
  repository: undefined,
} as const;

/** A recipient in parts: `acme/app` and the kind of place there. */
export interface GithubRecipient {
  kind: keyof typeof PERMISSIONS;
  repository: string;
}

/** Most apps have a few installations. With more, the oldest ones are asked for again. */
const MAX_KEPT = 1000;

type FindTokens = (recipient: GithubRecipient, context: TokenContext) => Promise<TokenSource>;

/**
 * The tokens of the installation that a place belongs to: the configured one, that of the event, or that of the repository.
 * `open`: the API as the app itself.
 */
export function createAppTokens(app: GithubApp, open: OpenApi): FindTokens {
  /** By installation and kind of place. */
  const tokens = new Map<string, TokenSource>();
  /** By repository. */
  const installations = new Map<string, string>();
  return async function findTokens({ kind, repository }, { signal, readEvent }) {
    const key = repository.toLowerCase();
    // Not kept: the installation that an event names holds for that event only.
    const installation =
      app.installation ??
      toInstallation(await readEvent?.(), key) ??
      installations.get(key) ??
      (await findInstallation(repository, signal));
    const id = `${installation} ${kind}`;
    const source = tokens.get(id) ?? createInstallationTokens(installation, kind, open);
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
    const call = await open(signal);
    // https://docs.github.com/en/rest/apps/apps#get-a-repository-installation-for-the-authenticated-app
    const { body } = await call("GET", `/repos/${repository}/installation`);
    const found = requireId(body["id"], "GitHub");
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

/** The tokens of one installation of a GitHub App: each lasts an hour. */
function createInstallationTokens(installation: string, kind: GithubRecipient["kind"], open: OpenApi): TokenSource {
  return createTokenSource("GitHub", async (signal) => {
    const call = await open(signal);
    const asked = { permissions: PERMISSIONS[kind] };
    const { token, expires_at: endsAt } = (
      await call("POST", `/app/installations/${installation}/access_tokens`, asked)
    ).body;
    if (typeof token !== "string") throw toUnreadable("GitHub");
    return { value: token, endsAt: Date.parse(String(endsAt)) };
  });
}

/** The app's proof of itself, a JWT. Its times allow for a clock that is a minute off. */
export function signAppToken({ id, key }: GithubApp, now: number): string {
  return signJwt({ iat: now - 60, exp: now + 540, iss: id }, key, "channels.github.app.key");
}
