import { HookError } from "../errors.ts";
import type { Handshake, SignatureRefusal, SignatureVerifier, SignedHead } from "../providers/provider.ts";
import type { HttpResponse } from "../types.ts";
import type { HookToken } from "../config/types.ts";
import { createTokenDoor, type Door, type DoorRequest, type Refusal, type Verification } from "./door.ts";

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
      const refusals: Refusal[] = [];
      for (const { sender, head } of shown) {
        const verification = await verifyBy(sender, { ...head, body, receivedAt: request.receivedAt });
        if (!("refusal" in verification)) return verification;
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
