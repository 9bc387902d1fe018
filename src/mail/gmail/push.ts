import type { OAuth2Client } from "google-auth-library";
import { HookError } from "../../errors.ts";
import type { RouteHandler } from "../../ingress/router.ts";
import { isObject } from "../../shared/json.ts";
import { createOAuthClient } from "./api.ts";
import type { GmailOptions } from "./options.ts";
import { announcesChange } from "./pubsub.ts";

export interface MailPushOptions {
  /** The current `hooks.mail.source`. */
  source(): ({ kind: string } & Partial<GmailOptions>) | undefined;
  /** The mailbox has changed. */
  notify(): void;
}

/** Gmail's notifications have some hundred bytes. */
const MAX_BYTES = 65_536;
/** Google's tokens have about a kilobyte. */
const MAX_AUTHORIZATION_LENGTH = 8192;

/**
 * Receives Pub/Sub's posts for Gmail at `/mail/push`. Answers 204 to every post with a valid token, since Pub/Sub repeats a post that
 * is refused. Without `hooks.mail.source.push`, the path does not exist.
 */
export function createMailPush({ source, notify }: MailPushOptions): RouteHandler {
  const verify = createTokenVerifier();
  return async ({ exchange, readJson }) => {
    // Before the body is read.
    await verify(exchange.headers.authorization, source()?.push);
    const body = await readJson(MAX_BYTES);
    if (announcesChange(isObject(body) ? body.message : undefined, source()?.user ?? "")) notify();
    return { status: 204, headers: {} };
  };
}

type PushSettings = NonNullable<GmailOptions["push"]>;

/** Accepts a token that Google signed for this audience and service account. The `HookError` does not say what is wrong. */
function createTokenVerifier(): (authorization: string | undefined, push: PushSettings | undefined) => Promise<void> {
  // A client keeps the certificates of its URL for as long as Google allows.
  const clients = new Map<string | undefined, Promise<OAuth2Client>>();
  return async (authorization = "", push) => {
    if (push === undefined) throw new HookError("not_found");
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
