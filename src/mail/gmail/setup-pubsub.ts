import type { OAuth2Client } from "google-auth-library";
import { MailError } from "../../errors.ts";
import { isObject } from "../../shared/json.ts";
import { readGoogleError, toMailError } from "./errors.ts";
import { createPubsub, type PubsubCall } from "./pubsub.ts";
import { GMAIL_PUBLISHER, PUBLISHER_ROLE } from "./watch.ts";

export interface PreparePubsubOptions {
  /** Of a user who may administer Pub/Sub in the project. */
  auth: OAuth2Client;
  pubsubUrl?: string;
  /** `projects/<project>/topics/<name>` */
  topic: string;
  /** `projects/<project>/subscriptions/<name>` */
  subscription: string;
  /** Absent: the subscription is pulled. */
  push?: {
    /** `https://hooks.example.com/mail/push` */
    endpoint: string;
    audience: string;
    /** The service account that signs the tokens. */
    serviceAccount: string;
  };
  signal: AbortSignal;
}

/** Without an expiration policy, a subscription is deleted after 31 days without a pull. */
const SUBSCRIPTION = { ackDeadlineSeconds: 60, messageRetentionDuration: "86400s", expirationPolicy: {} };

/**
 * Creates the topic that Gmail may publish on, and the subscription, unless they exist. Can be run again. Rejects with a `MailError`
 * that names the failed step.
 */
export async function preparePubsub(options: PreparePubsubOptions): Promise<void> {
  const { auth, pubsubUrl, topic, subscription, push, signal } = options;
  const pubsub = createPubsub(auth, pubsubUrl);

  await create(`create the topic ${topic}`, topic, {});
  await allowGmailToPublish();
  const pushConfig = push && {
    pushEndpoint: push.endpoint,
    oidcToken: { serviceAccountEmail: push.serviceAccount, audience: push.audience },
  };
  const settings = { ...SUBSCRIPTION, topic, ...(pushConfig && { pushConfig }) };
  if (await create(`create the subscription ${subscription}`, subscription, settings)) return;
  const existing = await request(`read ${subscription}`, { method: "GET", path: subscription });
  if (existing.topic !== topic) {
    throw new MailError(
      "login",
      `The subscription ${subscription} exists and belongs to ${String(existing.topic)}, not to ${topic}. Choose another name, or delete it.`,
    );
  }
  await request(`change the subscription ${subscription}`, {
    method: "POST",
    path: `${subscription}:modifyPushConfig`,
    body: { pushConfig: pushConfig ?? {} },
  });

  /** Resolves to false if it exists. */
  async function create(doing: string, path: string, body: object): Promise<boolean> {
    try {
      await pubsub.call({ method: "PUT", path, body, signal });
      return true;
    } catch (error) {
      if (readGoogleError(error).status === 409) return false;
      throw toMailError(error, doing);
    }
  }

  async function allowGmailToPublish(): Promise<void> {
    const doing = `allow Gmail to publish on ${topic}`;
    const policy = await request(doing, { method: "GET", path: `${topic}:getIamPolicy` });
    const bindings = Array.isArray(policy.bindings) ? policy.bindings.filter(isObject) : [];
    if (bindings.some(isGmailPublisher)) return;
    bindings.push({ role: PUBLISHER_ROLE, members: [GMAIL_PUBLISHER] });
    // The policy's etag prevents undoing a change that someone else makes at the same time.
    const body = { policy: { ...policy, bindings } };
    await request(doing, { method: "POST", path: `${topic}:setIamPolicy`, body });
  }

  async function request(doing: string, call: Omit<PubsubCall, "signal">): Promise<Record<string, unknown>> {
    return pubsub.call({ ...call, signal }).catch((error: unknown) => {
      throw toMailError(error, doing);
    });
  }
}

function isGmailPublisher({ role, members, condition }: Record<string, unknown>): boolean {
  return role === PUBLISHER_ROLE && !condition && Array.isArray(members) && members.includes(GMAIL_PUBLISHER);
}
