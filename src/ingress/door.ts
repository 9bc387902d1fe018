import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { HookToken } from "../config/types.ts";
import { bearerOf, digestOf, TOKEN_HEADER, TOKEN_PARAMETER } from "../shared/secret.ts";
import type { HttpResponse } from "../types.ts";

/** Decides who may send to a hook. */
export interface Door {
  /** The methods that it accepts; all but POST are for handshakes. */
  methods: readonly string[];
  /** Names the credential of the request, answers its handshake, or says why it is refused with a 401. */
  verify(request: DoorRequest): Verification | Promise<Verification>;
}

/** What a door sees of a request. */
export interface DoorRequest {
  /** undefined: the path cannot be the name of a hook. */
  hook: string | undefined;
  method: string;
  headers: IncomingHttpHeaders;
  /** Name, value, name, value … as they came. */
  rawHeaders: readonly string[];
  query: Record<string, string>;
  /** As in `Exchange`. */
  path: string;
  search: string;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  /** Reads the whole body as it came, not decompressed. A door that does not need it checks the request before it is read. */
  readBody(): Promise<Buffer>;
}

export type Verification = (Verified | AnsweredHandshake | Refusal) & {
  /** The request used a deprecated form: a warning for the log, and headers for the answer. */
  deprecation?: { warning: string; headers: Record<string, string> };
};

export interface Verified {
  /** A name, never the secret: `token:default`. It stays the same when the secret is rotated. */
  credential: string;
  /** The only status that the sender takes for success. */
  accept?: 200;
  /** A body without bytes is an empty payload. */
  allowsEmptyBody?: boolean;
  /** Header values that nothing behind the door may see. */
  secrets?: readonly string[];
  /** As in `SignatureVerifier`, for the same reason. */
  hideSecrets?(payload: unknown): unknown;
}

/** A sender has checked that the hook exists. */
export interface AnsweredHandshake {
  credential: string;
  handshake: HttpResponse;
  /** Some senders do not sign their handshakes, so anyone could have sent them. */
  isSigned: boolean;
  /** For the operator. */
  note?: string;
}

/** No error, because building one for each wrong guess is expensive. */
export interface Refusal {
  /** One sentence for the caller. */
  refusal: string;
  reason: "missing" | "malformed" | "wrong" | "expired";
  /** The sender whose signature is expired, by its credential, and how far its time is after ours. */
  sender?: string;
  skewSeconds?: number;
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

/** Lets requests in that show one of the tokens which count for their hook. */
export function createTokenDoor(tokens: HookToken[]): Door {
  const known = tokens.flatMap(({ name, secrets, hooks }) =>
    secrets.map((secret) => ({ credential: `token:${name}`, digest: digestOf(secret), hooks })),
  );

  return {
    methods: ["POST"],
    verify({ hook, headers, query }) {
      const presented = findToken(headers, query);
      if (!presented) return { refusal: MISSING, reason: "missing" };
      const deprecation = presented.form === "query" ? QUERY_TOKEN : undefined;
      const digest = digestOf(presented.secret);
      // All are compared, so that the time does not tell which one it was.
      const matching = known.filter((token) => timingSafeEqual(token.digest, digest));
      const token = matching.find(({ hooks }) => hooks === undefined || (hook !== undefined && hooks.includes(hook)));
      if (token) return { credential: token.credential, deprecation };
      return { refusal: WRONG, reason: "wrong", deprecation };
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
