import { toUnreadable } from "./http.ts";
import { toObject, toObjects, toText } from "../../core/shared/json.ts";
import { readAll } from "./hook-calls.ts";

/** Resolves to the `data` of the answer. */
type Ask = (query: string, variables: object) => Promise<Record<string, unknown>>;

/** All nodes of the connection `field`, by a query that takes `$after`. */
export function readNodes(service: string, ask: Ask, query: string, field: string): Promise<Record<string, unknown>[]> {
  return readAll(async (after) => {
    const { nodes, pageInfo } = toObject((await ask(query, { after }))[field]);
    if (!Array.isArray(nodes)) throw toUnreadable(service);
    const { hasNextPage, endCursor } = toObject(pageInfo);
    return { items: toObjects(nodes), next: hasNextPage === true ? toText(endCursor) : undefined };
  });
}
