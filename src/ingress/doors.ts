import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { HookToken } from "../config/types.ts";
import { bearerOf, digestOf, TOKEN_HEADER, TOKEN_PARAMETER } from "../shared/secret.ts";
import type { HttpResponse } from "../types.ts";

/** Decides who may send to a hook. */
export interface Door {
  /** The methods that it accepts; all but POST are for handshakes. */
  methods: readonly string[];
  /** Names the credential of the request, or says why it is refused with a 401. */
  verify(request: DoorRequest): Verification | Promise<Verification>;
  /** Answers a provider that checks the hook's address; undefined: the request is not a handshake. Called after `verify`. */
  handshake?(request: DoorRequest): Promise<HttpResponse | undefined>;
}

/** What a door sees of a request. */
export interface DoorRequest {
  /** undefined: the path cannot be the name of a hook. */
  hook: string | undefined;
  method: string;
  headers: IncomingHttpHeaders;
  query: Record<string, string>;
  /** Reads the whole body, as `HookRequest.rawBody`. A door that does not need it checks the request before it is read. */
  readBody(): Promise<Buffer>;
}

/**
 * `credential` is a name, never the secret: `token:default`. It stays the same when the secret is rotated. `refusal` is a
 * sentence for the caller: no error, because building one for each wrong guess is expensive.
 */
export type Verification = ({ credential: string; allowsEmptyBody?: boolean } | { refusal: string }) & {
  /** The request used a deprecated form: a warning for the log, and headers for the answer. */
  deprecation?: { warning: string; headers: Record<string, string> };
};

/** The door of every hook path. A path that names no hook has one too: it must not be told from one that does. */
export interface Doors {
  find(hook: string | undefined): Door;
}

export function createDoors(tokens: HookToken[]): Doors {
  const door = createTokenDoor(tokens);
  return { find: () => door };
}

const QUERY_TOKEN = {
  warning: "the hook token was sent as a query parameter, which is deprecated: use Authorization: Bearer",
  headers: {
    // RFC 9745: deprecated since 2026-11-01, as Unix seconds.
    Deprecation: "@1793491200",
    Warning: '299 - "The query parameter token is deprecated: send the header Authorization: Bearer instead"',
  },
};

/** Lets requests in that show one of the tokens which count for their hook. */
function createTokenDoor(tokens: HookToken[]): Door {
  const known = tokens.flatMap(({ name, secrets, hooks }) =>
    secrets.map((secret) => ({ credential: `token:${name}`, digest: digestOf(secret), hooks })),
  );

  return {
    methods: ["POST"],
    verify({ hook, headers, query }) {
      const presented = findToken(headers, query);
      const deprecation = presented?.form === "query" ? QUERY_TOKEN : undefined;
      const digest = digestOf(presented?.secret ?? "");
      // All are compared, so that the time does not tell which one it was.
      const matching = known.filter((token) => timingSafeEqual(token.digest, digest));
      const token = matching.find(({ hooks }) => hooks === undefined || (hook !== undefined && hooks.includes(hook)));
      if (presented && token) return { credential: token.credential, deprecation };
      const problem = presented ? "The hook token is wrong." : "The hook token is missing.";
      return { refusal: `${problem} Send it as Authorization: Bearer.`, deprecation };
    },
  };
}

interface PresentedToken {
  form: "bearer" | "header" | "query";
  secret: Buffer;
}

/** The token of highest precedence that is not empty. It alone decides: a wrong one is not rescued by another. */
function findToken(headers: IncomingHttpHeaders, query: Record<string, string>): PresentedToken | undefined {
  const bearer = bearerOf(headers.authorization);
  if (bearer) return { form: "bearer", secret: bearer };
  const header = headers[TOKEN_HEADER];
  // Node reads header bytes as Latin-1; this gives the bytes back, so that a token in UTF-8 compares equal.
  if (typeof header === "string" && header !== "") return { form: "header", secret: Buffer.from(header, "latin1") };
  const parameter = query[TOKEN_PARAMETER];
  return parameter ? { form: "query", secret: Buffer.from(parameter) } : undefined;
}
