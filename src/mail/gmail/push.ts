import type { OAuth2Client } from "google-auth-library";
import { HookError } from "../../errors.ts";
import type { RouteHandler } from "../../ingress/router.ts";
import { isObject } from "../../shared/json.ts";
import type { MailSource } from "../source.ts";
import type { MailSourceOptions } from "../sources.ts";
import { createOAuthClient } from "./api.ts";
import type { GmailOptions } from "./options.ts";
import { announcesChange } from "./pubsub.ts";

export interface MailPushOptions {
  /** Those that are watched. */
  mailboxes(): { settings: { source?: MailSourceOptions }; source: Pick<MailSource, "notify"> }[];
}

/** Gmail's notifications have some hundred bytes. */
const MAX_BYTES = 65_536;
/** Google's tokens have about a kilobyte. */
const MAX_AUTHORIZATION_LENGTH = 8192;

/**
 * Receives Pub/Sub's posts for Gmail at `/mail/push`. Answers 204 to every post with a valid token, since Pub/Sub repeats a post that
 * is refused. Without a mailbox that has `push`, the path does not exist.
 */
export function createMailPush({ mailboxes }: MailPushOptions): RouteHandler {
  const verify = createTokenVerifier();
  return async ({ exchange, readJson }) => {
    const pushed = mailboxes().flatMap(({ settings, source }) => {
      const { user = "", push } = settings.source ?? {};
      return push ? [{ user, push, source }] : [];
    });
    if (pushed.length === 0) throw new HookError("not_found");
    // Before the body is read.
    const checks = await Promise.allSettled(pushed.map(({ push }) => verify(exchange.headers.authorization, push)));
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

/** Accepts a token that Google signed for this audience and service account. The `HookError` does not say what is wrong. */
function createTokenVerifier(): (authorization: string | undefined, push: PushSettings) => Promise<void> {
  // A client keeps the certificates of its URL for as long as Google allows.
  const clients = new Map<string | undefined, Promise<OAuth2Client>>();
  return async (authorization = "", push) => {
    const token = /^bearer +(\S+)$/i.exec(authorization.slice(0, MAX_AUTHORIZATION_LENGTH))?.[1];
    if (token === undefined) throw new HookError("unauthorized");
    const { audience, serviceAccount, certsUrl } = push;
    const opening = clients.get(certsUrl) ?? createOAuthClient({ certsUrl });
    clients.set(certsUrl, opening);
    const client = await opening;
    const { certs } = await client.getFederatedSignonCertsAsync().catch(() => {
      const message = "The token cannot be verified now. Try again.";
      throw new HookError("unavailable", { message, headers: { "Retry-After": "10" } });
    });
    const ticket = await client.verifySignedJwtWithCertsAsync(token, certs, audience, client.issuers).catch(() => {
      throw new HookError("unauthorized");
    });
    const claims = ticket.getPayload();
    if (claims?.email !== serviceAccount || claims.email_verified !== true) throw new HookError("unauthorized");
  };
}
