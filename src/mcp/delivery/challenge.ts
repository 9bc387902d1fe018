import { createNonce } from "../../core/shared/id.ts";
import { readOwn, parseJson } from "../../core/shared/json.ts";
import { sameSecret } from "../../core/shared/secret.ts";
import type { Failure, Message, Sender } from "./callback.ts";
import { McpError } from "../errors.ts";

/** Asks an address whether it wants events, before the first one. */
export interface Challenges {
  /**
   * Resolves if the address has answered the challenge, now or before. Throws an `McpError`. Without limits anybody could
   * have this service send requests to somebody else.
   */
  require(principal: string, message: Omit<Message, "id" | "body">, allowHosts: readonly string[]): Promise<void>;
}

const MINUTE_MS = 60_000;
const MAX_PER_DESTINATION = 6;
const MAX_PER_PRINCIPAL = 30;
const FAILURE_MS = 600_000;
const MAX_REMEMBERED = 5000;

export function createChallenges(
  sender: Pick<Sender, "postOnce">,
  /** Whether the principal's subscriptions prove it. */
  isProven: (principal: string, url: string) => Promise<boolean>,
  now: () => number = Date.now,
): Challenges {
  const takeTurn = createLimits(now);
  /** By principal and address: that it was answered, or why not. */
  const results = new Map<string, { failure?: Failure; until: number }>();
  const running = new Map<string, Promise<void>>();

  return {
    async require(principal, message, allowHosts) {
      const key = JSON.stringify([principal, message.url]);
      const known = results.get(key);
      if (known && known.until > now()) {
        if (known.failure) throw toError(known.failure);
        return;
      }
      if (await isProven(principal, message.url)) return;
      const asked = running.get(key) ?? ask(principal, key, message, allowHosts).finally(() => running.delete(key));
      running.set(key, asked);
      await asked;
    },
  };

  async function ask(
    principal: string,
    key: string,
    message: Omit<Message, "id" | "body">,
    allowHosts: readonly string[],
  ): Promise<void> {
    const challenge = createNonce();
    const body = JSON.stringify({ type: "verification", challenge });
    const id = `msg_verification_${createNonce()}`;
    let refused: McpError | undefined;
    const result = await sender.postOnce({ ...message, id, body }, allowHosts, (names) => {
      refused = takeTurn(principal, names);
      if (refused) throw refused;
    });
    if (refused) throw refused;
    const failure = result.kind === "failed" ? result.reason : readEcho(result.text, challenge);
    remember(key, failure);
    if (failure) throw toError(failure);
  }

  function remember(key: string, failure: Failure | undefined): void {
    results.delete(key);
    results.set(key, { failure, until: failure ? now() + FAILURE_MS : Infinity });
    const [oldest] = results.keys();
    if (oldest !== undefined && results.size > MAX_REMEMBERED) results.delete(oldest);
  }
}

function readEcho(text: string, challenge: string): Failure | undefined {
  const echo = readOwn(parseJson(text), "challenge");
  return typeof echo === "string" && sameSecret(echo, challenge) ? undefined : "challenge_failed";
}

function toError(reason: Failure): McpError {
  return new McpError("callbackEndpoint", "The callback did not answer the challenge.", { reason });
}

/**
 * Counts the challenges of the last minute, by principal, and those of all by host and by address: many names can lead to one
 * machine.
 */
function createLimits(now: () => number): (principal: string, names: string[]) => McpError | undefined {
  let sent: { at: number; principal: string; names: string[] }[] = [];
  return function takeTurn(principal, names) {
    sent = sent.filter(({ at }) => at > now() - MINUTE_MS);
    const isFull = names.some(
      (name) => sent.filter((earlier) => earlier.names.includes(name)).length >= MAX_PER_DESTINATION,
    );
    const own = sent.filter((earlier) => earlier.principal === principal);
    if (isFull || own.length >= MAX_PER_PRINCIPAL) {
      const data = { limit: "challenges", max: isFull ? MAX_PER_DESTINATION : MAX_PER_PRINCIPAL };
      return new McpError("resourceExhausted", "Too many new callbacks. Try again in a minute.", data);
    }
    sent.push({ at: now(), principal, names });
    return undefined;
  };
}
