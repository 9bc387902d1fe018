import type { FastifyInstance } from "fastify";
import type { Mailbox } from "../../config/generated.ts";
import { isObject } from "../../config/is-object.ts";
import { parseNotification } from "./notification.ts";
import type { PushGate } from "./push-gate.ts";
import { sameAddress } from "./same-address.ts";

export interface MailPushOptions {
  /** `hooks.mail.source` as it is now. */
  source(): Mailbox | undefined;
  /** The mailbox has changed. */
  notify(): void;
}

/** Some hundred bytes is what Gmail's words take. */
const MOST_BYTES = 65_536;

/**
 * Takes what Pub/Sub posts for Gmail at `/mail/push`: 204 for every post with the right token, whatever it says, or Pub/Sub would
 * send it again and again. Without `hooks.mail.source.push` there is nothing at that path.
 */
export function registerMailPush(app: FastifyInstance, { source, notify }: MailPushOptions): void {
  const requireToken = createLazyGate();
  app.post(
    "/mail/push",
    {
      bodyLimit: MOST_BYTES,
      // Before the body: who has no token is not read.
      onRequest: ({ headers }) => requireToken(headers.authorization, source()?.push),
    },
    async ({ body }, reply) => {
      const notification = parseNotification(isObject(body) ? body.message : undefined);
      if (notification && sameAddress(notification.emailAddress, source()?.user ?? "")) notify();
      return reply.code(204).send();
    },
  );
}

/** Google's library is loaded with the first post: most services never get one. */
function createLazyGate(): PushGate {
  let gate: Promise<PushGate> | undefined;
  return async (authorization, settings) => {
    gate ??= import("./push-gate.ts").then(({ createPushGate }) => createPushGate());
    const requireToken = await gate;
    await requireToken(authorization, settings);
  };
}
