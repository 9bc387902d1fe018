import { MailError } from "../../errors.ts";
import type { Pubsub } from "./pubsub.ts";
import { toMailError } from "./to-mail-error.ts";

const PULL = "pubsub.subscriptions.consume";

/** Rejects with a `MailError` unless the subscription is there and may be pulled. Takes nothing from it. */
export async function requireSubscription(
  pubsub: Pubsub,
  subscription: string,
  signal: AbortSignal,
): Promise<void> {
  const { permissions } = await pubsub
    .call({
      method: "POST",
      path: `${subscription}:testIamPermissions`,
      body: { permissions: [PULL] },
      signal,
    })
    .catch((error: unknown) => {
      throw toMailError(error, `look at ${subscription}`);
    });
  if (Array.isArray(permissions) && permissions.includes(PULL)) return;
  // Google answers the same for both: what someone may not see is not there for them.
  const message = `The subscription ${subscription} is not there, or may not be pulled. Check hooks.mail.source.subscription, or run \`webhooks mail setup\` again.`;
  throw new MailError("login", message);
}
