import type { OAuth2Client } from "google-auth-library";
import { MailError } from "../../errors.ts";
import { isObject } from "../../shared/json.ts";
import { readGoogleError, toMailError } from "./errors.ts";
import { createPubsub, type Pubsub, type PubsubCall } from "./pubsub-pull.ts";
import { GMAIL_PUBLISHER, PUBLISHER_ROLE } from "./watch.ts";

export interface PreparePubsubOptions {
  /** Of someone who may administer Pub/Sub in the project. */
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
    /** Address of the service account that Pub/Sub signs its tokens for. */
    serviceAccount: string;
  };
  signal: AbortSignal;
}

type Json = Record<string, unknown>;

/**
 * Makes the topic that Gmail may publish on and the subscription to it, and leaves what is there already. May be run again.
 * Rejects with a `MailError` that says which step failed.
 */
export async function preparePubsub(options: PreparePubsubOptions): Promise<void> {
  const { auth, pubsubUrl, topic, subscription, push, signal } = options;
  const pubsub = createPubsub({ auth, url: pubsubUrl });
  await createUnlessThere(pubsub, `create the topic ${topic}`, {
    method: "PUT",
    path: topic,
    body: {},
    signal,
  });
  await letGmailPublish(pubsub, topic, signal);
  const pushConfig = push && toPushConfig(push);
  const body = { ...SUBSCRIPTION, topic, ...(pushConfig && { pushConfig }) };
  const doing = `create the subscription ${subscription}`;
  if (await createUnlessThere(pubsub, doing, { method: "PUT", path: subscription, body, signal })) return;
  await requireTopic(pubsub, subscription, { topic, signal });
  const modify = { method: "POST", path: `${subscription}:modifyPushConfig`, signal } as const;
  await ask(pubsub, `change the subscription ${subscription}`, {
    ...modify,
    body: { pushConfig: pushConfig ?? {} },
  });
}

/** Without a policy of its own a subscription is deleted after 31 days without a pull. */
const SUBSCRIPTION = { ackDeadlineSeconds: 60, messageRetentionDuration: "86400s", expirationPolicy: {} };

/** Whether it was created just now. */
async function createUnlessThere(pubsub: Pubsub, doing: string, call: PubsubCall): Promise<boolean> {
  try {
    await pubsub.call(call);
    return true;
  } catch (error) {
    if (readGoogleError(error).status === 409) return false;
    throw toMailError(error, doing);
  }
}

async function letGmailPublish(pubsub: Pubsub, topic: string, signal: AbortSignal): Promise<void> {
  const doing = `let Gmail publish on ${topic}`;
  const policy = await ask(pubsub, doing, { method: "GET", path: `${topic}:getIamPolicy`, signal });
  const bindings = Array.isArray(policy.bindings) ? policy.bindings.filter(isObject) : [];
  if (bindings.some(mayGmailPublish)) return;
  const added = { role: PUBLISHER_ROLE, members: [GMAIL_PUBLISHER] };
  // With its etag, so that a change of someone else in between is not undone.
  const body = { policy: { ...policy, bindings: [...bindings, added] } };
  await ask(pubsub, doing, { method: "POST", path: `${topic}:setIamPolicy`, body, signal });
}

function mayGmailPublish({ role, members, condition }: Json): boolean {
  return role === PUBLISHER_ROLE && !condition && Array.isArray(members) && members.includes(GMAIL_PUBLISHER);
}

async function requireTopic(
  pubsub: Pubsub,
  subscription: string,
  { topic, signal }: { topic: string; signal: AbortSignal },
): Promise<void> {
  const there = await ask(pubsub, `read ${subscription}`, { method: "GET", path: subscription, signal });
  if (there.topic === topic) return;
  const message = `The subscription ${subscription} is there already and belongs to ${String(there.topic)}, not to ${topic}. Choose another name, or delete it.`;
  throw new MailError("login", message);
}

function toPushConfig({ endpoint, audience, serviceAccount }: NonNullable<PreparePubsubOptions["push"]>): object {
  return { pushEndpoint: endpoint, oidcToken: { serviceAccountEmail: serviceAccount, audience } };
}

async function ask(pubsub: Pubsub, doing: string, call: PubsubCall): Promise<Json> {
  try {
    return await pubsub.call(call);
  } catch (error) {
    throw toMailError(error, doing);
  }
}
