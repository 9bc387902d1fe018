import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { HookToken } from "../config/types.ts";
import { HookError } from "../errors.ts";
import type { Handshake, SignatureRefusal, SignatureVerifier, SignedHead } from "../providers/provider.ts";
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
  /** How long it took, if the body was read meanwhile: without that. */
  verifyMs?: number;
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

/** Who signs the requests to a hook. */
export interface Sender {
  hook: string;
  /** `auth:` and the name of its mapping or preset. */
  credential: string;
  verifier: SignatureVerifier;
  /** As in a header: some senders show the secret itself. */
  secrets: string[];
  /** The address that the sender signs, if it is not the one behind `gateway.publicUrl`. */
  url?: string;
}

/** The door of every hook path. A path that names no hook has one too: it must not be told from one that does. */
export interface Doors {
  find(hook: string | undefined): Door;
  /** For what belongs to no hook: every token counts. */
  anyToken: Door;
}

export interface DoorOptions {
  tokens: HookToken[];
  senders?: Sender[];
  /** Whether a mapping for tokens takes requests to the hook, beside those of its senders. */
  takesTokens?(hook: string): boolean;
  /** `gateway.publicUrl`. */
  publicUrl?: string;
}

export function createDoors({ tokens, senders = [], takesTokens = () => true, publicUrl }: DoorOptions): Doors {
  const door = createTokenDoor(tokens);
  const closed = createTokenDoor([]);
  const signed = new Map(
    [...Map.groupBy(senders, ({ hook }) => hook)].map(([hook, ofHook]) => [
      hook,
      createSignedDoor({ senders: ofHook, tokens: takesTokens(hook) ? door : closed, publicUrl }),
    ]),
  );
  const anyToken = createTokenDoor(tokens.map((token) => ({ ...token, hooks: undefined })));
  return { find: (hook) => signed.get(hook ?? "") ?? door, anyToken };
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
function createTokenDoor(tokens: HookToken[]): Door {
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

interface SignedDoorOptions {
  senders: Sender[];
  /** For requests with a token: they may be let in too. */
  tokens: Door;
  publicUrl: string | undefined;
}

const NO_BODY = Buffer.alloc(0);

/** Lets requests in that one of the senders has signed, and those with a token. Answers handshakes of the senders. */
function createSignedDoor({ senders, tokens, publicUrl }: SignedDoorOptions): Door {
  return {
    methods: ["POST", ...new Set(senders.flatMap(({ verifier }) => verifier.handshakeMethods ?? []))],
    async verify(request) {
      const isPost = request.method === "POST";
      const byToken = isPost ? await tokens.verify(request) : undefined;
      if (byToken && "credential" in byToken) return byToken;
      const shown = senders
        .map((sender) => ({ sender, head: toHead(request, sender, publicUrl) }))
        .filter(({ sender: { verifier }, head }) => accepts(verifier, request.method) && verifier.presents(head));
      if (shown.length === 0) return byToken ?? wrongMethod();

      const body = isPost ? await request.readBody() : NO_BODY;
      const startedAt = performance.now();
      const refusals: Refusal[] = [];
      for (const { sender, head } of shown) {
        const verification = await verifyBy(sender, { ...head, body, receivedAt: request.receivedAt });
        if (!("refusal" in verification)) return { ...verification, verifyMs: performance.now() - startedAt };
        refusals.push(verification);
      }
      return refusals.toSorted((one, other) => rankOf(one) - rankOf(other))[0] ?? wrongMethod();
    },
  };
}

async function verifyBy({ credential, verifier, secrets }: Sender, request: SignedRequest): Promise<Verification> {
  const result = await verifier.verify(request);
  const handshake = await verifier.handshake?.(request, result);
  if (handshake)
    return { credential, handshake: toAnswer(handshake), isSigned: result === "valid", note: handshake.note };
  if (result !== "valid") return toRefusal(result, credential);
  // A handshake's method for anything else.
  if (request.method !== "POST") return wrongMethod();
  const { accept, allowsEmptyBody, hideSecrets } = verifier;
  return { credential, accept, allowsEmptyBody, secrets, hideSecrets };
}

type SignedRequest = Parameters<SignatureVerifier["verify"]>[0];

function accepts({ handshakeMethods = [] }: SignatureVerifier, method: string): boolean {
  return method === "POST" || handshakeMethods.some((known) => known === method);
}

function wrongMethod(): never {
  throw new HookError("method_not_allowed", { headers: { Allow: "POST" } });
}

function toHead(request: DoorRequest, { url }: Sender, publicUrl: string | undefined): SignedHead {
  const { method, headers, rawHeaders, query, path, search } = request;
  const address = url ?? (publicUrl && publicUrl + path);
  const isWhole = search === "" || address?.includes("?");
  return { method, headers, rawHeaders, query, url: isWhole ? address : address && `${address}?${search}` };
}

function toRefusal({ reason, message, skewSeconds }: SignatureRefusal, credential: string): Refusal {
  // It is not the sender's fault, and it tries again.
  if (reason === "unavailable") throw new HookError("unavailable", { message });
  return { refusal: message, reason, skewSeconds, sender: credential };
}

/** Of several senders' refusals the one that knows most about the request is shown. */
const RANKS: Refusal["reason"][] = ["expired", "wrong", "malformed", "missing"];

function rankOf({ reason }: Refusal): number {
  return RANKS.indexOf(reason);
}

/** A text is sent as it is. */
function toAnswer({ status, headers = {}, body }: Handshake): HttpResponse {
  if (typeof body !== "string") return { status, headers, body };
  const type = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };
  return { status, headers: { ...type, ...headers }, body: Buffer.from(body) };
}
