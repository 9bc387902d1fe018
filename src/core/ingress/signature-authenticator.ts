import { HookError } from "../errors.ts";
import type { Handshake, SignatureRefusal, SignatureVerifier, SignedHead } from "../ports/signature.ts";
import { parseObject } from "../shared/json.ts";
import type { HttpResponse } from "../types.ts";
import type { Authenticator, AuthenticatorRequest, Refusal, Verification } from "./authenticator.ts";
import { NO_BODY } from "./body.ts";
import { wrongMethod } from "./router.ts";
import { RecentFailure } from "../shared/net/recent-failure.ts";

/** Who signs the requests to a hook. */
export interface Sender {
  hook: string;
  /** `auth:` and the name of its mapping or preset. */
  credential: string;
  verifier: SignatureVerifier;
  /** Header values: some senders show the secret itself. */
  secrets: string[];
  /** Whether a body without a credential is the press of a button, which the button proves. Absent: none is. */
  provesByButton?(body: Record<string, unknown>): boolean;
  /** The credential is a bearer token. */
  showsToken?: boolean;
  /** The address that the sender signs, if it is not the one behind `gateway.publicUrl`. */
  url?: string;
}

interface SignatureOptions {
  senders: Sender[];
  /** For requests with a token: they may be let in too. */
  tokens: Authenticator;
  publicUrl: string | undefined;
}

/** Lets requests in that one of the senders has signed, and those with a token. Answers handshakes of the senders. */
export function createSignatureAuthenticator({ senders, tokens, publicUrl }: SignatureOptions): Authenticator {
  const clocks = createClockCheck();
  return {
    methods: ["POST", ...new Set(senders.flatMap(({ verifier }) => verifier.handshakeMethods ?? []))],
    async verify(request) {
      const isPost = request.method === "POST";
      const byToken = isPost ? await tokens.verify(request) : undefined;
      if (byToken && "credential" in byToken) return byToken;
      const shown = senders
        .map((sender) => ({ sender, head: toHead(request, sender, publicUrl) }))
        .filter(({ sender: { verifier }, head }) => accepts(verifier, request.method) && verifier.presents(head));
      if (shown.length === 0) {
        if (!byToken) throw wrongMethod("POST");
        return byToken;
      }

      const body = isPost ? await request.readBody() : NO_BODY;
      const startedAt = performance.now();
      const refusals: Refusal[] = [];
      for (const { sender, head } of shown) {
        const verification = await verifyBy(sender, { ...head, body, receivedAt: request.receivedAt }, clocks);
        if (!("refusal" in verification)) return { ...verification, verifyMs: performance.now() - startedAt };
        refusals.push(verification);
      }
      const pressed = shown.find(({ sender }) => sender.provesByButton?.(parseObject(body.toString())));
      if (pressed) return { credential: pressed.sender.credential, isProvedByButton: true, accept: 200 };
      const best = refusals.reduce((one, other) => (rankOf(other) < rankOf(one) ? other : one));
      const hint = best.hint ?? byToken?.hint;
      // Only the operator learns what this hook misses.
      return best.reason === "missing" && byToken?.reason === "missing"
        ? { ...byToken, hint: hint ?? best.refusal }
        : { ...best, hint };
    },
  };
}

async function verifyBy(
  { credential, verifier, secrets }: Sender,
  request: SignedRequest,
  clocks: ClockCheck,
): Promise<Verification> {
  const result = await verifier.verify(request);
  const handshake = await verifier.handshake?.(request, result);
  if (handshake)
    return { credential, handshake: toAnswer(handshake), isSigned: result === "valid", note: handshake.note };
  if (result !== "valid") return toRefusal(result, credential, clocks);
  clocks.succeed(credential);
  // A handshake's method for anything else.
  if (request.method !== "POST") throw wrongMethod("POST");
  const { accept, allowsEmptyBody, hideSecrets } = verifier;
  const signature = await verifier.identify?.(request);
  return { credential, signature, accept, allowsEmptyBody, secrets, hideSecrets };
}

type SignedRequest = Parameters<SignatureVerifier["verify"]>[0];

function accepts({ handshakeMethods = [] }: SignatureVerifier, method: string): boolean {
  return method === "POST" || handshakeMethods.some((known) => known === method);
}

function toHead(request: AuthenticatorRequest, { url }: Sender, publicUrl: string | undefined): SignedHead {
  const { method, headers, rawHeaders, query, path, search } = request;
  const address = url ?? (publicUrl && publicUrl + path);
  const isWhole = search === "" || address?.includes("?");
  return { method, headers, rawHeaders, query, url: isWhole ? address : address && `${address}?${search}` };
}

function toRefusal(
  { reason, message, skewSeconds, isRecent }: SignatureRefusal,
  credential: string,
  clocks: ClockCheck,
): Refusal {
  // 503: our key lookup failed; senders retry.
  if (reason === "unavailable") {
    throw new HookError("unavailable", { message, cause: isRecent && new RecentFailure(message) });
  }
  const hint = skewSeconds === undefined ? undefined : clocks.fail(credential, skewSeconds);
  return { refusal: message, reason, hint };
}

/** Best first: the refusal that knows most about the request is shown. */
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

/** Two of them, so that a single old request is not taken for a clock. */
const MIN_SKEWED = 2;
const MAX_SPREAD_SECONDS = 60;

interface ClockCheck {
  /** A note for the operator, if the sender's signatures are right and its times are wrong by the same amount. */
  fail(sender: string, skewSeconds: number): string | undefined;
  succeed(sender: string): void;
}

function createClockCheck(): ClockCheck {
  /** The first of each sender's skews that are alike, and how many there are. */
  const skewed = new Map<string, { first: number; count: number }>();

  return {
    fail(sender, skewSeconds) {
      const known = skewed.get(sender);
      const isAlike = known !== undefined && Math.abs(known.first - skewSeconds) <= MAX_SPREAD_SECONDS;
      const now = isAlike ? { ...known, count: known.count + 1 } : { first: skewSeconds, count: 1 };
      skewed.set(sender, now);
      if (now.count < MIN_SKEWED) return undefined;
      return `the sender's clock, or ours, is ${Math.abs(Math.round(skewSeconds))} s off`;
    },
    succeed: (sender) => void skewed.delete(sender),
  };
}
