import { HookError } from "../../errors.ts";
import type { RouteHandler } from "../../ingress/router.ts";
import { createGoogleTokenVerifier, type VerifyGoogleToken } from "../../shared/google-token.ts";
import { isObject } from "../../shared/json.ts";
import type { MailSource } from "../source.ts";
import type { MailSourceOptions } from "../sources.ts";
import type { GmailOptions } from "./options.ts";
import { announcesChange } from "./pubsub.ts";

export interface MailPushOptions {
  /** Those that are watched. */
  mailboxes(): { settings: { source?: MailSourceOptions }; source: Pick<MailSource, "notify"> }[];
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
  const verifiers = new WeakMap<PushSettings, Promise<VerifyGoogleToken>>();
  return async function checkToken(authorization, push) {
    const creating = verifiers.get(push) ?? createGoogleTokenVerifier({ ...push, toleranceMs: TOLERANCE_MS });
    verifiers.set(push, creating);
    const verify = await creating;
    const result = await verify(authorization, Date.now());
    if (result === "valid") return;
    if (result.reason !== "unavailable") throw new HookError("unauthorized");
    const message = "The token cannot be verified now. Try again.";
    throw new HookError("unavailable", { message, headers: { "Retry-After": "10" } });
  };
}
