import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../support/client.ts";
import { countRequests, type HookRequest, type Sender, toRequest } from "./sender.ts";
import { createRandom, type Random } from "./random.ts";

export interface Traffic {
  /** Sends hooks to this service from now on. */
  sendTo(client: Client): void;
  /** Resolves when this many hooks in total have been answered 2xx. */
  answered(count: number): Promise<void>;
  /** Each sender ends with the hook that it is sending. */
  stop(): void;
  /** Resolves when all are answered 2xx; rejects on an unexpected answer. */
  done: Promise<void>;
  /** Hooks that were answered 2xx so far. */
  answers(): number;
  /** Requests so far, including duplicates and those without an answer or with a 503. */
  requests(): number;
}

/** The delay before a retry. */
const RETRY_MS = 200;

/** One in this many hooks is sent together with a duplicate of itself or of an earlier one. */
const DUPLICATE_ONE_IN = 4;

/** Runs all senders concurrently. The seed decides which hooks are duplicated. */
export function startTraffic(senders: Sender[], seed: number, { pauseMs = 0 } = {}): Traffic {
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  const waiting: { count: number; resolve(): void }[] = [];
  let target: Client;
  let requests = 0;
  let answered = 0;
  let stopped = false;

  return {
    sendTo(client) {
      target = client;
      start();
    },
    answered: (count) =>
      new Promise((resolve) => {
        waiting.push({ count, resolve });
        resolveWaiting();
      }),
    stop: () => void (stopped = true),
    answers: () => answered,
    done: sendAll(),
    requests: () => requests,
  };

  async function sendAll(): Promise<void> {
    await started;
    await Promise.all(senders.map((sender, index) => sendHooks(sender, createRandom(seed + index))));
  }

  async function sendHooks(sender: Sender, random: Random): Promise<void> {
    for (let number = 1; number <= countRequests(sender); number += 1) {
      const repeats = random.below(DUPLICATE_ONE_IN) === 0 ? [1 + random.below(number)] : [];
      await Promise.all([number, ...repeats].map((each) => sendUntilAccepted(toRequest(sender, each))));
      answered += 1;
      resolveWaiting();
      if (stopped) sender.hooks = number;
      else await sleep(pauseMs);
    }
  }

  async function sendUntilAccepted(request: HookRequest): Promise<void> {
    while (!(await send(request))) await sleep(RETRY_MS);
  }

  /** Returns false if the request must be retried. */
  async function send({ hook, payload, headers }: HookRequest): Promise<boolean> {
    requests += 1;
    // No answer: the service was killed before or after its commit.
    const answer = await target.post(hook, payload, headers).catch(() => undefined);
    if (answer === undefined || answer.status === 503) return false;
    if (answer.status >= 200 && answer.status < 300) return true;
    throw new Error(`${hook} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }

  function resolveWaiting(): void {
    for (const each of waiting) if (answered >= each.count) each.resolve();
  }
}
