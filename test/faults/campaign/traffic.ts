import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../support/client.ts";
import { type HookRequest, type Lane, toRequest } from "./lane.ts";
import { createRandom, type Random } from "./random.ts";

export interface Traffic {
  /** Hooks go to this service from now on. */
  sendTo(client: Client): void;
  /** Resolves when so many hooks in all have been answered 2xx. */
  answered(count: number): Promise<void>;
  /** Resolves when all are answered 2xx; rejects at an answer that no sender should get. */
  done: Promise<void>;
  /** Requests so far, with repeats and with those that got no answer, or a 503. */
  requests(): number;
}

/** How long a sender waits before it sends the same again, in milliseconds. */
const SEND_AGAIN_MS = 50;

/** One hook in so many is sent beside a repeat of an earlier one of its lane, or of itself. */
const REPEAT_ONE_IN = 4;

/** Sends all lanes side by side. The seed decides what is repeated. */
export function startTraffic(lanes: Lane[], seed: number): Traffic {
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  const waiting: { count: number; resolve(): void }[] = [];
  let target: Client;
  let requests = 0;
  let answered = 0;

  return {
    sendTo(client) {
      target = client;
      start();
    },
    answered: (count) =>
      new Promise((resolve) => {
        waiting.push({ count, resolve });
        settle();
      }),
    done: sendAll(),
    requests: () => requests,
  };

  async function sendAll(): Promise<void> {
    await started;
    await Promise.all(lanes.map((lane, index) => sendLane(lane, createRandom(seed + index))));
  }

  async function sendLane(lane: Lane, random: Random): Promise<void> {
    for (let number = 1; number <= lane.hooks; number += 1) {
      const repeats = random.below(REPEAT_ONE_IN) === 0 ? [1 + random.below(number)] : [];
      await Promise.all([number, ...repeats].map((each) => sendUntilTaken(toRequest(lane, each))));
      answered += 1;
      settle();
    }
  }

  async function sendUntilTaken(request: HookRequest): Promise<void> {
    while (!(await send(request))) await sleep(SEND_AGAIN_MS);
  }

  /** Gives false where the same must be sent again. */
  async function send({ hook, payload, headers }: HookRequest): Promise<boolean> {
    requests += 1;
    // no answer: the service died, before its commit or after
    const answer = await target.post(hook, payload, headers).catch(() => undefined);
    if (answer === undefined || answer.status === 503) return false;
    if (answer.status >= 200 && answer.status < 300) return true;
    throw new Error(`${hook} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }

  function settle(): void {
    for (const each of waiting) if (answered >= each.count) each.resolve();
  }
}
