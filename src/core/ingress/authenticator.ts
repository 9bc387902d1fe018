import type { SignatureVerifier, SignedIdentity } from "../ports/signature.ts";
import type { HttpResponse } from "../types.ts";
import type { Exchange } from "./exchange.ts";

/** Decides who may send to a hook. */
export interface Authenticator {
  /** The methods that it accepts; all but POST are for handshakes. */
  methods: readonly string[];
  /** Names the credential of the request, answers its handshake, or says why it is refused with a 401. */
  verify(request: AuthenticatorRequest): Verification | Promise<Verification>;
}

export interface AuthenticatorRequest extends Pick<
  Exchange,
  "method" | "headers" | "rawHeaders" | "path" | "search" | "client"
> {
  /** undefined: the path cannot be the name of a hook. */
  hook: string | undefined;
  query: Record<string, string>;
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

export interface Verified extends Pick<SignatureVerifier, "accept" | "allowsEmptyBody" | "hideSecrets"> {
  /** A name, never the secret: `token:default`. It stays the same when the secret is rotated. */
  credential: string;
  /** The part that only the sender can have made, if it signs its requests. */
  signature?: SignedIdentity;
  /** Nothing is proved but by the value of a button, which the receiver looks up. */
  isProvedByButton?: true;
  /** Header values that nothing behind the authenticator may see. */
  secrets?: readonly string[];
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
  /** The common cause of several refusals of this sender, for the operator. */
  hint?: string;
}
