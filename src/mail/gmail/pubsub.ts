import { setTimeout as sleep } from "node:timers/promises";
import { HookError, MailError } from "../../core/errors.ts";
import type { RouteHandler } from "../../core/ingress/router.ts";
import { toGoogleRules } from "../../core/shared/net/google-token.ts";
import { bearerTokenOf, createTokenVerifier, type VerifyToken } from "../../core/shared/net/json-web-token.ts";
import { isObject, parseObject } from "../../core/shared/json.ts";
import { isSameMailbox } from "../message/addresses.ts";
import type { GmailOptions } from "../options.ts";
import type { MailSource } from "../../core/ports/mail-source.ts";
import { type CallGoogle, toMailError } from "./google.ts";

/** Pub/Sub's REST API. Everything rejects with a `MailError`. */
export interface Pubsub {
  /** Returns and acknowledges waiting messages. Empty if none arrives in time. */
  pull(subscription: string, timeoutMs: number, signal: AbortSignal): Promise<unknown[]>;
  /** Rejects unless the subscription can be pulled. */
  check(subscription: string, signal: AbortSignal): Promise<void>;
}

const GOOGLE = "https://pubsub.googleapis.com";
const MAX_MESSAGES = 100;
/** Pub/Sub usually holds a pull until there is a message, but does not promise it. */
const PAUSE_MS = 1000;
const PULL_PERMISSION = "pubsub.subscriptions.consume";

export function createPubsub(call: CallGoogle, url: string = GOOGLE): Pubsub {
  return { pull, check };

  function post(
    path: string,
    body: object,
    options: { signal: AbortSignal; timeoutMs?: number },
  ): Promise<Record<string, unknown>> {
    return call(new URL(`/v1/${path}`, url), { method: "POST", body, ...options });
  }

  async function pull(subscription: string, timeoutMs: number, signal: AbortSignal): Promise<unknown[]> {
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const { receivedMessages } = await post(
        `${subscription}:pull`,
        { maxMessages: MAX_MESSAGES },
        { timeoutMs: 2 * timeoutMs, signal: AbortSignal.any([signal, timeout]) },
      );
      const received = Array.isArray(receivedMessages) ? receivedMessages.filter(isObject) : [];
      const ackIds = received.map(({ ackId }) => ackId);
      // Messages may be lost: they only say when to read the history, and every start reads it anyway.
      if (ackIds.length > 0) await post(`${subscription}:acknowledge`, { ackIds }, { signal });
      return received.map(({ message }) => message);
    } catch (error) {
      if (timeout.aborted && !signal.aborted) return [];
      throw toMailError(error, `pull ${subscription}`);
    }
  }

  async function check(subscription: string, signal: AbortSignal): Promise<void> {
    const path = `${subscription}:testIamPermissions`;
    const { permissions } = await post(path, { permissions: [PULL_PERMISSION] }, { signal }).catch((error: unknown) => {
      throw toMailError(error, `check ${subscription}`);
    });
    if (Array.isArray(permissions) && permissions.includes(PULL_PERMISSION)) return;
    // Google does not tell a missing subscription from a forbidden one.
    const advice = "Check hooks.mail.source.subscription, and that the consent is of a user who may pull it.";
    throw new MailError("login", `The subscription ${subscription} does not exist or may not be pulled. ${advice}`);
  }
}

/** Resolves when a message says that the user's mailbox has changed, or after the time. Rejects with a `MailError`. */
export async function pullUntilChange(
  pubsub: Pubsub,
  { subscription, user, timeoutMs }: { subscription: string; user: string; timeoutMs: number },
  signal: AbortSignal,
): Promise<void> {
  const until = performance.now() + timeoutMs;
  for (let leftMs = timeoutMs; leftMs > 0; leftMs = Math.floor(until - performance.now())) {
    const messages = await pubsub.pull(subscription, leftMs, signal);
    if (messages.some((message) => announcesChange(message, user))) return;
    if (messages.length === 0) await sleep(PAUSE_MS, undefined, { signal });
  }
}

/** Whether a message of Pub/Sub is Gmail's notification that this user's mailbox has changed. */
export function announcesChange(message: unknown, user: string): boolean {
  const data = isObject(message) ? message.data : undefined;
  const { emailAddress } = parseObject(typeof data === "string" ? Buffer.from(data, "base64").toString() : "");
  return typeof emailAddress === "string" && isSameMailbox(emailAddress, user);
}

export interface MailPushOptions {
  /** Watched mailboxes. */
  mailboxes(): {
    settings: { source?: { kind: string } & Partial<GmailOptions> };
    source: Pick<MailSource, "notify">;
  }[];
}

/** Gmail's notifications have some hundred bytes. */
const MAX_BYTES = 65_536;

/**
 * Receives Pub/Sub's posts for Gmail at `/mail/push`. Answers 204 to every post with a valid token, since Pub/Sub repeats a post that
 * is refused. Without a mailbox that has `push`, the path does not exist.
 */
export function createMailPush({ mailboxes }: MailPushOptions): RouteHandler {
  const checkToken = createTokenCheck();
  return async ({ exchange, readJson }) => {
    const pushed = mailboxes().flatMap(({ settings, source }) => {
      const { user = "", push } = settings.source ?? {};
      return push ? [{ user, push, source }] : [];
    });
    if (pushed.length === 0) throw new HookError("not_found");
    // Before the body is read.
    const checks = await Promise.allSettled(pushed.map(({ push }) => checkToken(exchange.headers.authorization, push)));
    const allowed = pushed.filter((_, index) => checks[index]?.status === "fulfilled");
    const reasons = checks.flatMap((check) => (check.status === "rejected" ? [check.reason] : []));
    if (allowed.length === 0) throw reasons.find(({ code }) => code === "unavailable") ?? reasons[0];
    const body = await readJson(MAX_BYTES);
    const message = isObject(body) ? body.message : undefined;
    for (const { user, source } of allowed) if (announcesChange(message, user)) source.notify?.();
    return { status: 204, headers: {} };
  };
}

type PushSettings = NonNullable<GmailOptions["push"]>;

const TOLERANCE_MS = 60_000;

/** Accepts a token that Google signed for this audience and service account. The `HookError` does not say what is wrong. */
function createTokenCheck(): (authorization: string | undefined, push: PushSettings) => Promise<void> {
  // Each keeps Google's keys.
  const verifiers = new WeakMap<PushSettings, Promise<VerifyToken>>();
  return async function checkToken(authorization = "", push) {
    const creating = verifiers.get(push) ?? createTokenVerifier({ ...toGoogleRules(push), toleranceMs: TOLERANCE_MS });
    verifiers.set(push, creating);
    const verify = await creating;
    const { refusal } = await verify(bearerTokenOf(authorization) ?? "", Date.now());
    if (!refusal) return;
    if (refusal.reason !== "unavailable") throw new HookError("unauthorized");
    const message = "The token cannot be verified now. Try again.";
    throw new HookError("unavailable", { message, headers: { "Retry-After": "10" } });
  };
}
