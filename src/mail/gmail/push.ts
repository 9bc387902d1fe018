import type { FastifyInstance } from "fastify";
import type { OAuth2Client } from "google-auth-library";
import type { Mailbox } from "../../config/schema/generated.ts";
import { HookError } from "../../errors.ts";
import { isObject } from "../../shared/json.ts";
import { createOAuthClient } from "./api.ts";
import { parseNotification } from "./pubsub-pull.ts";
import { sameAddress } from "./settings.ts";

export interface MailPushOptions {
  /** `hooks.mail.source` as it is now. */
  source(): Mailbox | undefined;
  /** The mailbox has changed. */
  notify(): void;
}

/** Some hundred bytes is what Gmail's words take. */
const MAX_BYTES = 65_536;

/**
 * Takes what Pub/Sub posts for Gmail at `/mail/push`: 204 for every post with the right token, whatever it says, or Pub/Sub would
 * send it again and again. Without `hooks.mail.source.push` there is nothing at that path.
 */
export function registerMailPush(app: FastifyInstance, { source, notify }: MailPushOptions): void {
  const admit = createPushGate();
  app.post(
    "/mail/push",
    {
      bodyLimit: MAX_BYTES,
      // Before the body: who has no token is not read.
      onRequest: ({ headers }) => admit(headers.authorization, source()?.push),
    },
    async ({ body }, reply) => {
      const notification = parseNotification(isObject(body) ? body.message : undefined);
      if (notification && sameAddress(notification.emailAddress, source()?.user ?? "")) notify();
      return reply.code(204).send();
    },
  );
}

type PushSettings = NonNullable<Mailbox["push"]>;

/** Resolves for a request that may pass. Rejects with a `HookError`, which does not say what is wrong with a token. */
type PushGate = (authorization: string | undefined, settings: PushSettings | undefined) => Promise<void>;

/** Google's own take about a kilobyte. */
const MAX_CHARACTERS = 8192;

/** Lets pass who brings a token that Google signed, for this audience, and for the service account of the settings. */
function createPushGate(): PushGate {
  const clients = new Map<string | undefined, Promise<OAuth2Client>>();
  return async (authorization, settings) => {
    if (settings === undefined) throw new HookError("not_found");
    const token = /^bearer +(\S+)$/i.exec((authorization ?? "").slice(0, MAX_CHARACTERS))?.[1];
    if (token === undefined) throw new HookError("unauthorized");
    // One client for each source of certificates: it keeps them for as long as Google says.
    const client = clients.get(settings.certsUrl) ?? createOAuthClient({ certsUrl: settings.certsUrl });
    clients.set(settings.certsUrl, client);
    await requireToken(await client, token, settings);
  };
}

async function requireToken(
  client: OAuth2Client,
  token: string,
  { audience, serviceAccount }: PushSettings,
): Promise<void> {
  const { certs } = await client.getFederatedSignonCertsAsync().catch(() => {
    throw new HookError("unavailable", {
      message: "The token cannot be checked now. Try again.",
      headers: { "Retry-After": "10" },
    });
  });
  const ticket = await client.verifySignedJwtWithCertsAsync(token, certs, audience, client.issuers).catch(() => {
    throw new HookError("unauthorized");
  });
  const claims = ticket.getPayload();
  if (claims?.email !== serviceAccount || claims.email_verified !== true) throw new HookError("unauthorized");
}
