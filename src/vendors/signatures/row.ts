import type { SignatureDefinition } from "../../core/ports/driver.ts";
import { NON_BLANK } from "../../core/shared/json.ts";
import type {
  Bytes,
  Handshake,
  ReplayClass,
  SignatureResult,
  SignatureVerifier,
  SignedHead,
  SignedRequest,
  UnsignedRequest,
} from "../../core/ports/signature.ts";

/**
 * How one sender signs. The signed text is the parts of `signed` in their order, where `body`, `id`, `timestamp`, `url` and
 * `method` mean those of the request, and any other text means itself.
 */
export interface SignatureRow
  extends
    Pick<SignatureDefinition, "docs" | "deliveryId">,
    Pick<SignatureVerifier, "accept" | "allowsEmptyBody" | "senderTimeoutMs"> {
  /** How a captured request is kept from running again. Default: timed if a time is signed, else plain. */
  replay?: ReplayClass;
  /** The header with the signature, in lower case. Of several, the first that the request has counts. */
  header: string | readonly string[];
  /** Text before the signature: `sha256=`. */
  prefix?: string;
  /** `secret`: the header contains the secret itself. Default: `hmac-sha256`. */
  algorithm?: Algorithm;
  /** Default: `hex`. */
  encoding?: Encoding;
  /** The header is a list of names and values: `t=1614556800,v1=5257a8…`. At most 8 signatures are tried. */
  list?: {
    /** Between two entries: `,`. */
    separator: string;
    /** Between a name and its value. Default: `=`. */
    assign?: string;
    /** The name of a signature: `v1`. */
    signature: string;
    /** The name of the time, where it is in the list: `t`. */
    timestamp?: string;
  };
  /** Default: the body alone. A function gives undefined for a request that the sender would not send. */
  signed?: readonly SignedPart[];
  /** A function of `signed` uses the address. Default: whether `signed` has `url`. */
  signsUrl?: boolean;
  /** Forms of the address that the sender may have signed. Default: it alone. */
  toUrls?(url: string): readonly string[];
  /** The address with what the sender adds to its query for this body. Default: nothing. */
  toSignedUrl?(request: UnsignedRequest): string;
  /** The header with the delivery's id, if the id is signed. Of several, the one at the place of the signature's. */
  idHeader?: string | readonly string[];
  /** Where the time is signed: in a header (as `idHeader`), in a top-level field of a JSON body, or in the list. */
  timestamp?: { header?: string | readonly string[]; field?: string; unit: TimeUnit };
  /** How far the sender's clock may be off, in both directions, unless `auth.tolerance` is set. Default: `5m`. */
  tolerance?: string;
  handshake?: HandshakeRule;
  /** Further keys of the `auth` block, by name, as JSON Schemas. All are required. */
  options?: Record<string, object>;
  /** Reads a secret that is not the key itself. Throws an `Error` that says what the secret must be. */
  toKey?(secret: string): SigningKey;
}

/** `t=1614556800,v1=5257a8…`, over the time, a separator and the body. */
export const TIMED_LIST = {
  list: { separator: ",", signature: "v1", timestamp: "t" },
  timestamp: { unit: "s" },
  signed: ["timestamp", ".", "body"],
} as const satisfies Partial<SignatureRow>;

/** The header shows the secret itself. */
export const SHOWN = { replay: "plain", algorithm: "secret", encoding: "latin1" } as const;

/** A row that says how a captured request is kept from running again. */
export type DecidedRow = SignatureRow &
  (Required<Pick<SignatureRow, "replay">> | Required<Pick<SignatureRow, "timestamp">>);

/** A secret or a public key, ready for use. */
export interface SigningKey {
  /** The name of its signatures in a list, if it differs from the row's. */
  name?: string;
  /** Whether one of the signatures is right for the parts, one after the other. In constant time. */
  accepts(parts: readonly Bytes[], signatures: readonly Bytes[]): boolean;
  /** Undefined for a public key. */
  sign?(parts: readonly Bytes[]): Bytes;
}

/** The `signed` of a scheme whose header shows the secret. */
export const SECRET_ITSELF = "the secret itself";

/** How the signature is computed. */
export type Algorithm = "hmac-sha256" | "hmac-sha1" | "hmac-sha512" | "ed25519" | "ecdsa-sha256" | "secret";
/** How its bytes are written. */
export type Encoding = "hex" | "base64" | "base64url" | "latin1";
/** How a signed time is written: seconds or milliseconds since the epoch, or ISO 8601. */
export type TimeUnit = "s" | "ms" | "iso";
/** A part of the signed text. */
export type SignedPart = string | ((request: SignedRequest) => string | undefined);

/** How a sender checks a hook, and what it expects. */
export interface HandshakeRule {
  /** For the documentation. */
  about: string;
  methods?: readonly ("GET" | "HEAD" | "OPTIONS")[];
  /** Whether a request without a valid signature may be the handshake. Default: it is always signed. */
  mayBeUnsigned?(head: SignedHead): boolean;
  /** Why such a request is refused if it gets no answer. Default: it has no signature. */
  refusal?: string;
  /** Called for each request with a valid signature, or that `mayBeUnsigned`. undefined: it is no handshake. */
  answer(request: SignedRequest, context: HandshakeContext): Handshake | undefined | Promise<Handshake | undefined>;
}

/** The surroundings of a handshake. */
export interface HandshakeContext {
  result: SignatureResult;
  /** The `auth` block without `scheme`. */
  options: Record<string, unknown>;
  /** The one of the secrets that signed the request. */
  findSecret(): string | undefined;
}

export const HEADER = { type: "string", pattern: "^[\\w!#$%&'*+.^`|~-]+$" } as const;

export const SECRET = {
  anyOf: [NON_BLANK, { type: "array", minItems: 1, maxItems: 8, items: NON_BLANK }],
  description: "The secret. Of several, for rotation, the first signs and all verify.",
} as const;

export const TOLERANCE = {
  type: "string",
  pattern: "^\\d+(ms|s|m|h|d)$",
  description: "How far the sender's clock may be off, in both directions.",
} as const;

export const URL_OPTION = {
  type: "string",
  pattern: "^https?://",
  description: "The address that the sender posts to. Default: the hook's path behind gateway.publicUrl.",
} as const;

export const REPLAY_OPTION = {
  const: "signature",
  description: "No two events have the same signed bytes: the same again within hooks.dedupeWindow is a repeat.",
} as const;

/** The `auth` block of a row, without `scheme`. */
export interface RowOptions {
  secret: string | readonly string[];
  tolerance?: string;
  replay?: "signature";
}
