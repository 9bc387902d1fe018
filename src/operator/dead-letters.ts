import type { FastifyInstance } from "fastify";
import type { Journal } from "../journal/port.ts";
import { type Query, requireOnly, toPage } from "./query.ts";
import { requireFound } from "./require-found.ts";
import { toDeadLetterView } from "./views.ts";

export interface DeadLetterOptions {
  journal: Journal;
  /** What was committed by hand may be due. */
  lookForWork(): void;
}

/** What failed for good: to look at, to try again, to drop. */
export function registerDeadLetters(api: FastifyInstance, { journal, lookForWork }: DeadLetterOptions): void {
  api.get<{ Querystring: Query }>("/api/dead-letters", async ({ query }) => {
    requireOnly(query, "limit", "before");
    const deadLetters = await journal.listDeadLetters(toPage(query));
    return { deadLetters: deadLetters.map(toDeadLetterView) };
  });

  api.post<{ Params: { id: string } }>("/api/dead-letters/:id/retry", async ({ params: { id } }) => {
    requireFound((await journal.retryDeadLetter(id, Date.now())) || undefined, "dead letter");
    lookForWork();
    return { ok: true, id };
  });

  api.delete<{ Params: { id: string } }>("/api/dead-letters/:id", async ({ params: { id } }) => {
    requireFound((await journal.dropDeadLetter(id)) || undefined, "dead letter");
    return { ok: true, id };
  });
}
