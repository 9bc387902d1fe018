import type { IncomingHttpHeaders } from "node:http";
import type { SignedIdentity } from "../providers/provider.ts";
import type { HttpResponse } from "../types.ts";

/** Decides who may send to a hook. */
export interface Authenticator {
  /** The methods that it accepts; all but POST are for handshakes. */
  methods: readonly string[];
  /** Names the credential of the request, answers its handshake, or says why it is refused with a 401. */
  verify(request: AuthenticatorRequest): Verification | Promise<Verification>;
}

export interface AuthenticatorRequest {
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
  /** Reads the whole body as it came, not decompressed. An authenticator that does not need it checks the request before it is read. */
  readBody(): Promise<Buffer>;
}

export type Verification = (Verified | AnsweredHandshake | Refusal) & {
  /** The request used a deprecated form: a warning for the log, and headers for the answer. */
  deprecation?: { warning: string; headers: Record<string, string> };
  /** How long it took, if the body was read meanwhile: without that. */
  verifyMs?: number;
};

export interface Verified {
  /** A name, never the secret: `token:default`. It stays the same when the secret is rotated. */
  credential: string;
  /** The only status that the sender takes for success. */
  accept?: 200;
  /** What only the sender can have made, if it signs its requests. */
  signature?: SignedIdentity;
  /** A body without bytes is an empty payload. */
  allowsEmptyBody?: boolean;
  /** Header values that nothing behind the authenticator may see. */
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

/** A value, because of the refusals of several senders one is chosen. */
export interface Refusal {
  /** One sentence for the caller. */
  refusal: string;
  reason: "missing" | "malformed" | "wrong" | "expired";
  /** What several refusals of this sender have in common, for the operator. */
  hint?: string;
}
