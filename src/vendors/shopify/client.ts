import type { ApiAccess } from "../../core/ports/vendor.ts";
import { readPath, toObject, toObjects, toText } from "../../core/shared/json.ts";
import { readNodes } from "../kit/graphql.ts";
import { openCalls } from "../kit/hook-calls.ts";
import { type HttpAnswer, type Refusal, toRefusal } from "../kit/http.ts";

/** Completes "The token needs …". */
export const WEBHOOK_ACCESS = "the app's access scopes for what the events are about, such as read_orders";

/** Shopify answers for a version that has ended with the oldest one that has not. */
const PATH = "/admin/api/2026-10/graphql.json";

const NEEDS = `The token needs ${WEBHOOK_ACCESS}.`;

const ADVICE = new Map([
  [401, "Check the access token."],
  [403, NEEDS],
  [404, "Check the name of the shop."],
]);

interface Shopify {
  /** Resolves to the `data` of the answer. */
  ask(query: string, variables: object): Promise<Record<string, unknown>>;
  /** All nodes of the connection `field`, by a query that takes `$after`. */
  list(query: string, field: string): Promise<Record<string, unknown>[]>;
}

/** The API of the shop that the place of the access names. */
export function openShopify(access: ApiAccess): Shopify {
  const { token, place = "" } = access;
  const { baseUrl = `https://${place.replace(/\.myshopify\.com$/, "")}.myshopify.com` } = access;
  const call = openCalls(access, {
    service: "Shopify",
    baseUrl,
    headers: () => ({ "x-shopify-access-token": token }),
    // A limit with the status 429 is retryable and has `Retry-After`.
    explain: ({ status, body }) => ({ reason: toText(body["errors"]), advice: ADVICE.get(status) }),
  });
  const ask: Shopify["ask"] = async (query, variables) => {
    const answer = await call("POST", PATH, { query, variables });
    const data = toObject(answer.body["data"]);
    // Each mutation has a list of its own of why it has changed nothing.
    const refused = Object.values(data).flatMap((done) => toObjects(toObject(done)["userErrors"]));
    const [error] = [...toObjects(answer.body["errors"]), ...refused];
    if (!error) return data;
    throw toRefusal("Shopify", answer, explain(error, answer));
  };
  return { ask, list: (query, field) => readNodes("Shopify", ask, query, field) };
}

/** Words an error of a query: a limit, which ends, or what the token needs. Its status is 200. */
function explain({ message: reason, extensions }: Record<string, unknown>, answer: HttpAnswer): Refusal {
  const { code } = toObject(extensions);
  if (code === "THROTTLED") return { reason, retryable: true, retryAfterMs: toWait(answer) };
  if (code === "INTERNAL_SERVER_ERROR") return { reason, retryable: true };
  return { reason, retryable: false, advice: NEEDS };
}

/** The time until there are points enough for the query. https://shopify.dev/docs/api/usage/limits */
function toWait({ body }: HttpAnswer): number | undefined {
  const read = (...path: string[]): number => Number(readPath(body, ["extensions", "cost", ...path]));
  const missing = read("requestedQueryCost") - read("throttleStatus", "currentlyAvailable");
  const seconds = missing / read("throttleStatus", "restoreRate");
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds * 1000)) : undefined;
}
