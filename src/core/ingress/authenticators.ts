import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { HookToken } from "../config/resolved-config.ts";
import { HookError } from "../errors.ts";
import { isSender } from "../types.ts";
import { bearerOf, digestOf, TOKEN_HEADER, TOKEN_PARAMETER } from "../shared/secret.ts";
import { isOfOwner } from "../shared/system/owner.ts";
import type { Authenticator } from "./authenticator.ts";
import { createSignatureAuthenticator, type Sender } from "./signature-authenticator.ts";

/** The authenticator of every hook path. A path that names no hook has one too, so that nobody learns which hooks exist. */
export interface Authenticators {
  find(hook: string | undefined): Authenticator;
  /** For what belongs to no hook: every token counts, also that of one mapping. */
  anyToken: Authenticator;
  /** Whether a credential is a token: its holder can also read the runs that it created. */
  isToken(credential: string): boolean;
}

export interface AuthenticatorOptions {
  tokens: HookToken[];
  senders?: Sender[];
  /** Whether a mapping for tokens takes requests to the hook, beside those of its senders. */
  takesTokens?(hook: string): boolean;
  /** `gateway.publicUrl`. */
  publicUrl?: string;
}

export function createAuthenticators({
  tokens,
  senders = [],
  takesTokens = () => true,
  publicUrl,
}: AuthenticatorOptions): Authenticators {
  const shared = tokens.map(({ name, ...token }) => ({ ...token, credential: `token:${name}` }));
  const own = senders.flatMap((sender) => (sender.showsToken ? [{ ...sender, hooks: [sender.hook] }] : []));
  const every = [...shared, ...own];
  const authenticator = createTokenAuthenticator(shared, every);
  const closed = createTokenAuthenticator([], every);
  const signed = new Map(
    [...Map.groupBy(senders, ({ hook }) => hook)].map(([hook, ofHook]) => [
      hook,
      createSignatureAuthenticator({ senders: ofHook, tokens: takesTokens(hook) ? authenticator : closed, publicUrl }),
    ]),
  );
  const anyToken = createTokenAuthenticator(every.map(({ credential, secrets }) => ({ credential, secrets })));
  const isToken = (credential: string): boolean =>
    !isSender(credential) || own.some((sender) => sender.credential === credential);
  return { find: (hook) => signed.get(hook ?? "") ?? authenticator, anyToken, isToken };
}

const QUERY_TOKEN = {
  warning: "the hook token was sent as a query parameter, which is deprecated: use Authorization: Bearer",
  headers: {
    // RFC 9745: deprecated since 2026-11-01, as Unix seconds.
    Deprecation: "@1793491200",
    Warning: '299 - "The query parameter token is deprecated: send the header Authorization: Bearer instead"',
  },
};

/** The same on every path: who shows no credential must not learn which hooks exist. */
const MISSING = "The hook token or signature is missing. Send a token as Authorization: Bearer.";
const WRONG = "The token is wrong, or not for this hook. Send a token as Authorization: Bearer.";

interface AcceptedToken extends Pick<HookToken, "secrets" | "hooks"> {
  credential: string;
}

/** Lets requests in that show one of the tokens which count for their hook. `every`: also those that count for others. */
function createTokenAuthenticator(tokens: AcceptedToken[], every: AcceptedToken[] = []): Authenticator {
  const known = toKnown(tokens);
  const takesOwner = known.some(({ hooks }) => hooks === undefined);
  const others = toKnown(every);

  return {
    methods: ["POST"],
    verify({ hook, headers, query, client }) {
      const presented = findToken(headers, query);
      if (!presented) return { refusal: MISSING, reason: "missing" };
      const { secret, deprecation } = presented;
      const digest = digestOf(secret);
      // All are compared, so that the time does not tell which one it was.
      const matching = known.filter((token) => timingSafeEqual(token.digest, digest));
      const token = matching.find(({ hooks }) => hooks === undefined || (hook !== undefined && hooks.includes(hook)));
      if (token) return { credential: token.credential, deprecation };
      if (takesOwner && isOfOwner(secret, client)) return { credential: "token:owner" };
      return { refusal: WRONG, reason: "wrong", deprecation, hint: describeOther(digest, hook, others) };
    },
  };
}

type KnownToken = Pick<AcceptedToken, "credential" | "hooks"> & { digest: Buffer };

function toKnown(tokens: AcceptedToken[]): KnownToken[] {
  return tokens.flatMap(({ credential, secrets, hooks }) =>
    secrets.map((secret) => ({ credential, digest: digestOf(secret), hooks })),
  );
}

const MAX_NAMED = 5;

/** Tells the operator, and nobody else, that a wrong token is the right one of other hooks. */
function describeOther(digest: Buffer, hook: string | undefined, others: KnownToken[]): string | undefined {
  const matching = others
    .filter((token) => timingSafeEqual(token.digest, digest))
    .filter(({ hooks }) => hook === undefined || !hooks?.includes(hook));
  const [first] = matching;
  if (!first) return undefined;
  if (matching.some(({ hooks }) => hooks === undefined))
    return `${first.credential} is valid for other hooks: this one takes only what its sender signs`;
  const hooks = [...new Set(matching.flatMap((token) => token.hooks ?? []))].map((name) => `"${name}"`);
  const named = hooks.slice(0, MAX_NAMED).join(", ");
  const more = hooks.length > MAX_NAMED ? ` and ${hooks.length - MAX_NAMED} more` : "";
  return `${first.credential} is valid for the hook${hooks.length > 1 ? "s" : ""} ${named}${more}, not for this one`;
}

/** The token of highest precedence that is not empty. It alone decides: a wrong one is not rescued by another. */
function findToken(
  headers: IncomingHttpHeaders,
  query: Record<string, string>,
): { secret: Buffer; deprecation?: typeof QUERY_TOKEN } | undefined {
  const bearer = bearerOf(headers.authorization);
  if (bearer) return { secret: bearer };
  const header = headers[TOKEN_HEADER];
  // Node reads header bytes as Latin-1; this gives the bytes back, so that a token in UTF-8 compares equal.
  if (typeof header === "string" && header !== "") return { secret: Buffer.from(header, "latin1") };
  const parameter = query[TOKEN_PARAMETER];
  return parameter ? { secret: Buffer.from(parameter), deprecation: QUERY_TOKEN } : undefined;
}

const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;
/** So that an attacker with many addresses costs a few megabytes and no more. */
const MAX_CLIENTS = 10_000;

/** Keeps clients from guessing a credential: counts the failures of each in a sliding window. */
export interface AuthRateLimit {
  /** The client, an address, showed a right credential: forgets the failures of its network in the same scope. */
  succeed(client: string, scope?: string): void;
  /** Whether the next failure of the client is answered with a 429. */
  isThrottled(client: string): boolean;
  /**
   * Counts a failure. Throws the 429 of a client that has failed too often; such a failure is not counted. `scope`: what the
   * credential is for. All scopes count together, so that a right credential for one does not allow more guesses at another.
   */
  fail(client: string, scope?: string): void;
}

/** `now` gives milliseconds that never go backwards. */
export function createAuthRateLimit(now: () => number = () => performance.now()): AuthRateLimit {
  /** Each client's last failures, oldest first; the client that failed longest ago comes first. */
  const failures = new Map<string, Failure[]>();

  return {
    succeed(address, scope) {
      if (failures.size === 0) return;
      const client = networkOf(address);
      const others = failures.get(client)?.filter((failure) => failure.scope !== scope) ?? [];
      if (others.length > 0) failures.set(client, others);
      else failures.delete(client);
    },

    isThrottled: (client) => waitOf(failures.get(networkOf(client))) > 0,

    fail(address, scope) {
      const client = networkOf(address);
      const known = failures.get(client) ?? [];
      const waitMs = waitOf(known);
      if (waitMs > 0) {
        throw new HookError("too_many_failures", { headers: { "Retry-After": String(Math.ceil(waitMs / 1000)) } });
      }
      known.push({ at: now(), scope });
      if (known.length > MAX_FAILURES) known.shift();
      failures.delete(client);
      failures.set(client, known);
      if (failures.size > MAX_CLIENTS) failures.delete(failures.keys().next().value ?? "");
    },
  };

  /** In milliseconds. */
  function waitOf(known: Failure[] = []): number {
    return known.length < MAX_FAILURES ? 0 : (known[0]?.at ?? 0) + WINDOW_MS - now();
  }
}

interface Failure {
  at: number;
  scope: string | undefined;
}

/** One sender usually has a whole /64 of IPv6 addresses: counted singly, they would give it that many attempts. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = address.split("::");
  const groups = head.split(":");
  const last = tail.split(":");
  // `::` stands for as many zeros as make eight groups.
  while (groups.length + last.length < 8) groups.push("0");
  return [...groups, ...last].slice(0, 4).join(":");
}
