import type { JsonAnswer } from "../json-server.ts";

export interface PubsubDouble {
  /** Answers a request below `/v1/`. A pull waits for a message or for the signal. */
  answer(request: { method: string; path: string; body: Json; closed: AbortSignal }): Promise<JsonAnswer>;
  /** Creates a topic that Gmail may publish on, and a subscription. */
  prepare(): { topic: string; subscription: string };
  publish(topic: string, data: unknown): void;
  hasTopic(topic: string): boolean;
  mayPublish(topic: string, member: string): boolean;
  /** The number of messages that are not acknowledged. */
  unacknowledged(subscription: string): number;
}

type Json = Record<string, unknown>;

interface Binding {
  role: string;
  members: string[];
}

interface Subscription {
  settings: Json;
  waiting: { ackId: string; message: Json }[];
  outstanding: Set<string>;
  /** Wakes the pulls that wait. */
  wake: Set<() => void>;
}

interface State {
  policies: Map<string, { bindings: Binding[] }>;
  subscriptions: Map<string, Subscription>;
  count: number;
}

export const GMAIL_PUBLISHER = "serviceAccount:gmail-api-push@system.gserviceaccount.com";
const PUBLISHER_ROLE = "roles/pubsub.publisher";

/**
 * A double of Pub/Sub's REST API, written after https://docs.cloud.google.com/pubsub/docs/reference/rest, since no npm package has
 * one. Messages that are not acknowledged are not repeated.
 */
export function createPubsubDouble(): PubsubDouble {
  const state: State = { policies: new Map(), subscriptions: new Map(), count: 0 };
  return {
    answer: async ({ method, path, body, closed }) => {
      const [, name = "", verb = ""] = /^([^:]+):?(\w*)$/.exec(path) ?? [];
      const isTopic = name.includes("/topics/");
      if (method === "PUT") return isTopic ? createTopic(state, name) : createSubscription(state, name, body);
      return isTopic ? onTopic(state, name, verb, body) : onSubscription(state, name, { verb, body, closed });
    },
    prepare() {
      const topic = "projects/test/topics/gmail";
      const subscription = "projects/test/subscriptions/hookline";
      state.policies.set(topic, { bindings: [{ role: PUBLISHER_ROLE, members: [GMAIL_PUBLISHER] }] });
      createSubscription(state, subscription, { topic });
      return { topic, subscription };
    },
    publish(topic, data) {
      const message = {
        data: Buffer.from(JSON.stringify(data)).toString("base64"),
        messageId: String(++state.count),
      };
      for (const subscription of state.subscriptions.values()) {
        if (subscription.settings.topic !== topic) continue;
        subscription.waiting.push({ ackId: `ack-${++state.count}`, message });
        for (const wake of subscription.wake) wake();
      }
    },
    hasTopic: (topic) => state.policies.has(topic),
    mayPublish: (topic, member) =>
      state.policies
        .get(topic)
        ?.bindings.some(({ role, members }) => role === PUBLISHER_ROLE && members.includes(member)) ?? false,
    unacknowledged: (name) => state.subscriptions.get(name)?.outstanding.size ?? 0,
  };
}

/** An error in the form of Google's APIs. */
export function googleError(code: number, status: string, message: string, reason = status): JsonAnswer {
  return { status: code, body: { error: { code, message, status, errors: [{ message, reason }] } } };
}

function createTopic({ policies }: State, name: string): JsonAnswer {
  if (policies.has(name)) return googleError(409, "ALREADY_EXISTS", "Resource already exists in the project.");
  policies.set(name, { bindings: [] });
  return { status: 200, body: { name } };
}

function createSubscription({ policies, subscriptions }: State, name: string, body: Json): JsonAnswer {
  if (subscriptions.has(name)) return googleError(409, "ALREADY_EXISTS", "Resource already exists in the project.");
  if (!policies.has(String(body.topic))) return googleError(404, "NOT_FOUND", "Resource not found (resource=topic).");
  const settings = { ...body, name };
  subscriptions.set(name, { settings, waiting: [], outstanding: new Set(), wake: new Set() });
  return { status: 200, body: settings };
}

function onTopic({ policies }: State, name: string, verb: string, body: Json): JsonAnswer {
  const policy = policies.get(name);
  if (policy === undefined) return googleError(404, "NOT_FOUND", `Resource not found (resource=${name}).`);
  if (verb === "setIamPolicy") policies.set(name, body.policy as { bindings: Binding[] });
  return { status: 200, body: policies.get(name) };
}

async function onSubscription(
  { subscriptions }: State,
  name: string,
  { verb, body, closed }: { verb: string; body: Json; closed: AbortSignal },
): Promise<JsonAnswer> {
  const subscription = subscriptions.get(name);
  if (verb === "testIamPermissions") {
    return { status: 200, body: subscription ? { permissions: body.permissions } : {} };
  }
  if (subscription === undefined) return googleError(404, "NOT_FOUND", `Resource not found (resource=${name}).`);
  if (verb === "pull") return pull(subscription, closed);
  if (verb === "acknowledge") for (const id of body.ackIds as string[]) subscription.outstanding.delete(id);
  return { status: 200, body: verb === "" ? subscription.settings : {} };
}

async function pull(subscription: Subscription, closed: AbortSignal): Promise<JsonAnswer> {
  if (subscription.waiting.length === 0) {
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        subscription.wake.delete(wake);
        resolve();
      };
      subscription.wake.add(wake);
      closed.addEventListener("abort", wake);
    });
  }
  if (closed.aborted) return { status: 200, body: {} };
  const receivedMessages = subscription.waiting.splice(0);
  for (const { ackId } of receivedMessages) subscription.outstanding.add(ackId);
  return { status: 200, body: receivedMessages.length > 0 ? { receivedMessages } : {} };
}
