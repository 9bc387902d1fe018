import { type Call, requireId } from "../kit/http.ts";
import type { ApiAccess, MissedOptions } from "../../core/ports/vendor.ts";
import { openStripe } from "./client.ts";
import { listEndpoints } from "./webhooks.ts";
import { toObjects, toText } from "../../core/shared/json.ts";
import type { MissedEvent, MissedEvents } from "../../core/ports/missed.ts";

const PAGE = 100;
const MAX_PAGES = 200;
/** Stripe filters by this many types at most. */
const MAX_TYPES = 20;

/**
 * Stripe's events of 30 days. Nothing is delivered again: the objects are entered here. They belong to all endpoints and may
 * have another API version than ours. https://docs.stripe.com/api/events/list
 */
export async function openMissed(
  access: ApiAccess,
  { url, events, readKnown, enter }: MissedOptions,
): Promise<MissedEvents> {
  const call = openStripe(access);
  const objects = new Map<string, Record<string, unknown>>();
  return {
    paceMs: 0,
    async find(since) {
      const known = await readKnown(since);
      objects.clear();
      for await (const event of listEvents(call, since, events)) {
        const id = requireId(event["id"], "Stripe");
        if (!known.has(id) && events.includes(toText(event["type"]))) objects.set(id, event);
      }
      const version = (await listEndpoints(call)).find((endpoint) => endpoint["url"] === url)?.["api_version"];
      const other = [...objects.values()].find((event) => event["api_version"] !== version);
      const note = `These events have Stripe's API version ${toText(other?.["api_version"])}, but those of the endpoint have ${toText(version)}.`;
      return {
        missed: [...objects.values()].map(toMissed).toSorted((one, next) => (one.order < next.order ? -1 : 1)),
        notes: typeof version === "string" && other ? [note] : [],
      };
    },
    async repeat({ id }) {
      const event = objects.get(id);
      if (event) await enter(event);
    },
  };
}

/** Newest first. */
async function* listEvents(
  call: Call,
  since: number,
  events: readonly string[],
): AsyncGenerator<Record<string, unknown>> {
  const types = events.length <= MAX_TYPES ? events.map((type) => `&types[]=${encodeURIComponent(type)}`).join("") : "";
  const query = `limit=${PAGE}&created[gte]=${Math.floor(since / 1000)}${types}`;
  let after = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const { body } = await call("GET", `/events?${query}${after}`);
    const data = toObjects(body["data"]);
    yield* data;
    if (body["has_more"] !== true || data.length === 0) return;
    after = `&starting_after=${requireId(data.at(-1)?.["id"], "Stripe")}`;
  }
}

function toMissed(event: Record<string, unknown>): MissedEvent {
  const created = Number(event["created"] ?? 0);
  const id = toText(event["id"]);
  const at = new Date(created * 1000).toISOString();
  return { id, order: `${at} ${id}`, at, event: toText(event["type"]), guid: id };
}
