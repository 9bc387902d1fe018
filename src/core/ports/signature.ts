/** Bytes in memory: a `Buffer`, of whose methods only these are promised, because these types do not need those of Node. */
export interface Bytes extends Uint8Array {
  toString(encoding?: "utf8" | "latin1" | "hex" | "base64" | "base64url"): string;
}

/** By name in lower case. */
interface SentHeaders {
  [name: string]: string | string[] | undefined;
  authorization?: string;
  "content-type"?: string;
}

/** The part of a request that is known before its body is read. */
export interface SignedHead {
  method: string;
  headers: SentHeaders;
  /** Name, value, name, value … as they came, so that a header that is there twice can be refused. */
  rawHeaders: readonly string[];
  query: Record<string, string>;
  /** The address that the sender posts to, with its query: `auth.url`, or the path behind `gateway.publicUrl`. */
  url?: string;
}

/** A request with the bytes of its body as they came, before any decompression. */
export interface SignedRequest extends SignedHead {
  body: Bytes;
  /** Milliseconds since the epoch. */
  receivedAt: number;
}

/** Whether a request is its sender's, or why not. */
export type SignatureResult = "valid" | SignatureRefusal;

/** Why a request is refused. */
export interface SignatureRefusal {
  /** `unavailable`: it cannot be verified now, for example because the sender's keys cannot be fetched. */
  reason: "missing" | "malformed" | "wrong" | "expired" | "unavailable";
  /** One sentence for the caller. It contains nothing secret. */
  message: string;
  /** For `unavailable`: it has just failed, so nobody was asked again. It counts as a wrong credential of the client. */
  isRecent?: true;
  /** For `expired`: how far the sender's time is after ours, in seconds. */
  skewSeconds?: number;
}

/**
 * How a captured request is kept from running again.
 * timed: a time is signed · unique: two events never have the same signed bytes · plain: they may have the same, or nothing is
 * signed, so only `dedupe` recognizes a repeat.
 */
export type ReplayClass = "timed" | "unique" | "plain";

/**
 * The part of a request that only the sender can have made. A request with the same identity gets the first one's
 * answer.
 */
export interface SignedIdentity {
  /** A digest of the signed bytes, in base64url. */
  digest: string;
  /** For how long a copy of the request would be let in, in milliseconds, if a time is signed. */
  validMs?: number;
  /** The body is not signed: another one with the same signature is refused. */
  isBodyUnsigned?: boolean;
}

/**
 * Knows one sender: how it signs its requests, and how it checks that a hook exists. Nothing here but `sign` throws or
 * rejects.
 */
export interface SignatureVerifier {
  /** Whether the request shows this kind of credential, or may be a handshake. If not, its body is not read. */
  presents(head: SignedHead): boolean;
  verify(request: SignedRequest): SignatureResult | Promise<SignatureResult>;
  /**
   * The identity of a request that `verify` found valid; undefined if two events can have the same. Absent: always. Never of a
   * secret that the request shows.
   */
  identify?(request: SignedRequest): SignedIdentity | undefined | Promise<SignedIdentity | undefined>;
  /** Methods other than POST that a handshake needs. */
  handshakeMethods?: readonly ("GET" | "HEAD" | "OPTIONS")[];
  /** The answer to a sender that checks the hook; undefined for any other request. `result` is what `verify` found. */
  handshake?(request: SignedRequest, result: SignatureResult): Handshake | undefined | Promise<Handshake | undefined>;
  /** The only status that the sender takes for success. */
  accept?: 200;
  /** Some requests of this sender have no body: their payload is an empty object. */
  allowsEmptyBody?: boolean;
  /** How long the sender waits for an answer, in milliseconds. */
  senderTimeoutMs?: number;
  /** A copy of the payload without the secrets that this sender shows in it; the payload itself if there are none. */
  hideSecrets?(payload: unknown): unknown;
  /** Signs a request as this sender would. Some senders sign in the body, which is then returned. */
  sign?(request: UnsignedRequest): SignedParts | Promise<SignedParts>;
}

/** A request that is to be signed. */
export interface UnsignedRequest {
  method: string;
  url: string;
  body: Bytes;
  contentType?: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** The parts of a request that its signature adds or replaces. */
export interface SignedParts {
  headers: Record<string, string>;
  body?: Bytes;
  /** The address, if the sender adds something to its query. */
  url?: string;
}

/** The answer to a sender that checks a hook. */
export interface Handshake {
  status: number;
  headers?: Record<string, string>;
  /** An object is sent as JSON. */
  body?: string | object;
  /** For the operator: what the sender said, and what to do with it. */
  note?: string;
}
