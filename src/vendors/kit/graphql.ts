import { type Call, toRefusal } from "./http.ts";
import { toObject, toObjects, toText } from "../../core/shared/json.ts";
import { readAll } from "./hook-calls.ts";

/** Resolves to the `data` of the answer. */
type Ask = (query: string, variables: object) => Promise<Record<string, unknown>>;

export interface Graphql {
  ask: Ask;
  /** All nodes of the connection `field`, by a query that takes `$after`. */
  list(query: string, field: string): Promise<Record<string, unknown>[]>;
}

/** Calls an API that reports its refusals with status 200. */
export function openGraphql(
  call: Call,
  { service, path, advice }: { service: string; path: string; advice: string },
): Graphql {
  async function ask(query: string, variables: object): Promise<Record<string, unknown>> {
    const answer = await call("POST", path, { query, variables });
    const data = toObject(answer.body["data"]);
    // Shopify says in each mutation's own list why it has changed nothing.
    const refused = Object.values(data).flatMap((done) => toObjects(toObject(done)["userErrors"]));
    const [error] = [...toObjects(answer.body["errors"]), ...refused];
    if (!error) return data;
    const { userPresentableMessage, code } = toObject(error["extensions"]);
    const reason = userPresentableMessage ?? error["message"];
    throw toRefusal(service, answer, { reason, retryable: code === "THROTTLED", advice });
  }

  return { ask, list: (query, field) => readNodes(ask, query, field) };
}

/** All nodes of the connection `field`, by a query that takes `$after`. */
export function readNodes(ask: Ask, query: string, field: string): Promise<Record<string, unknown>[]> {
  return readAll(async (after) => {
    const { nodes, pageInfo } = toObject((await ask(query, { after }))[field]);
    const { hasNextPage, endCursor } = toObject(pageInfo);
    return { items: toObjects(nodes), next: hasNextPage === true ? toText(endCursor) : undefined };
  });
}
