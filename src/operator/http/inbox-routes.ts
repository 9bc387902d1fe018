import { readInbox, readInboxItem } from "../inbox/read-inbox.ts";
import { answering, requireFound, type RoutesOf } from "./route.ts";
import type { RouteServices } from "./services.ts";

/** Everything that waits for a person. */
export function createInboxRoutes(services: RouteServices): RoutesOf<`/api/inbox${string}` | `/api/models/${string}`> {
  return {
    "GET /api/inbox": answering({
      about:
        "What waits for a person: questions to decide, what is down, has failed, waits, is unknown, or was left out, in this order.",
      answer: async () => ({ items: await readInbox(services) }),
    }),
    "GET /api/inbox/:id*": answering({
      about: "One item: an open one, or a question that has ended.",
      answer: async ({ params: { id = "" } }) => requireFound(await readInboxItem(id, services), "item"),
    }),
    "POST /api/models/:id/try": answering({
      about: "Lets the turns that wait for a provider of models try it now.",
      answer: async ({ params: { id = "" } }) => ({ ok: true as const, turns: await services.journal.tryAgain(id) }),
    }),
  };
}
