import { BULK_SCHEMA, createBulk } from "../bulk/bulk.ts";
import { answering, requireFound, type RoutesOf } from "./route.ts";
import type { RouteServices } from "./services.ts";

/** Actions on everything that a filter chooses. */
export function createBulkRoutes(services: RouteServices): RoutesOf<`/api/bulk${string}`> {
  const bulk = createBulk(services);
  return {
    "POST /api/bulk": answering({
      about:
        "Counts what an action would change, the newest 1,000, or with the count's `token` changes exactly those, and answers when it is done.",
      body: BULK_SCHEMA,
      example: { action: "retry", filter: { kind: "run" } },
      answer: async ({ readJson }) => bulk.run(await readJson()),
    }),
    "GET /api/bulk/:id": answering({
      about: "How far the action with this token has come.",
      answer: async ({ params: { id = "" } }) => requireFound(await bulk.progress(id), "action with this token"),
    }),
  };
}
