import { toSubscriptionRow } from "../subscription-rows.ts";
import { toView } from "../iso-times.ts";
import { answering, changing, cursor, limit, requireFound, type RoutesOf } from "./route.ts";
import type { RouteServices } from "./services.ts";

/** The code that subscribers know for access that was taken away. */
const FORBIDDEN = -32012;

/** Subscriptions of agents, and what principals ask the MCP endpoint for. */
export function createSubscriptionRoutes({
  journal,
  config,
  audit,
}: RouteServices): RoutesOf<`/api/subscriptions${string}` | "/api/mcp-requests"> {
  return {
    "GET /api/subscriptions": answering({
      about: "Subscriptions of agents to events, by id.",
      async answer() {
        const [state, found] = await Promise.all([
          journal.publications.state(),
          journal.publications.listSubscriptions(),
        ]);
        return { subscriptions: found.map((one) => toView(toSubscriptionRow(one, state, Date.now()))) };
      },
    }),
    "GET /api/subscriptions/:id": answering({
      about: "One subscription, with the events that were given up, newest first.",
      query: {
        limit: limit(100),
        before: cursor("Only given-up events before the one with this position.", "the position of an event"),
      },
      async answer({ params: { id = "" }, query }) {
        const found = requireFound((await journal.publications.listSubscriptions(id))[0], "subscription");
        const row = toSubscriptionRow(found, await journal.publications.state(), Date.now());
        const abandoned = await journal.publications.listAbandoned(id, query);
        return { ...toView(row), abandoned: abandoned.map(toView) };
      },
    }),
    "DELETE /api/subscriptions/:id": changing(
      "subscription",
      "Ends a subscription, and tells its subscriber.",
      async (id) => {
        const ended = { code: FORBIDDEN, message: "The operator has ended the subscription.", at: Date.now() };
        // Nobody would tell it without the endpoint.
        return config().gateway.mcp ? journal.publications.end(id, ended) : journal.publications.unsubscribe(id);
      },
    ),
    "POST /api/subscriptions/:id/retry": changing(
      "subscription",
      "Lets a suspended subscription try its callback again, as if its subscriber had asked again.",
      async (id) => {
        const [found] = await journal.publications.listSubscriptions(id);
        if (!found || found.progress.ended) return false;
        const { progress, generation: _generation, ...terms } = found;
        return (await journal.publications.subscribe({ ...terms, refreshedAt: Date.now() }, progress)).kind !== "full";
      },
    ),
    "GET /api/mcp-requests": answering({
      about: "Requests of principals to the MCP endpoint of this node, newest first: the last 500 since the start.",
      query: { limit: limit(500) },
      answer: ({ query }) => ({ requests: audit.list(query.limit).map(toView) }),
    }),
  };
}
