import { readInbox, readInboxItem } from "../inbox/read-inbox.ts";
import { answering, changing, requireFound, type RoutesOf } from "./route.ts";
import type { RouteServices } from "./services.ts";

type InboxPath = `/api/${"inbox" | "models" | "mailboxes" | "tools/"}${string}`;

/** Everything that waits for a person. */
export function createInboxRoutes(services: RouteServices): RoutesOf<InboxPath> {
  return {
    "GET /api/inbox": answering({
      about:
        "What waits for a person: questions to decide, what is down, has failed, waits, is unknown, or was left out, in this order.",
      answer: async () => ({ items: await readInbox(services) }),
    }),
    "GET /api/inbox/:id*": answering({
      about: "One item: an open one, or a question or failures that have ended.",
      answer: async ({ params: { id = "" } }) => requireFound(await readInboxItem(id, services), "item"),
    }),
    "POST /api/models/:id/try": answering({
      about: "Lets the turns that wait for a provider of models try it now.",
      answer: async ({ params: { id = "" } }) => ({ ok: true as const, turns: await services.journal.tryAgain(id) }),
    }),
    "POST /api/tools/:id/try": answering({
      about: "Connects to the server of a tool set now. A call shows whether one without a connection works.",
      async answer({ params: { id = "" } }) {
        requireFound(await services.tryTools(id), "tool set");
        return { ok: true as const, id };
      },
    }),
    "POST /api/mailboxes/:id/try": changing("mailbox", "Connects to a mailbox of this node now.", async (id) =>
      services.tryMailbox(id),
    ),
  };
}
