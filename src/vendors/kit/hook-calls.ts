import { type Api, type Call, createApi, isSuccess, toUnreadable } from "./http.ts";
import { DriverError } from "../../core/errors.ts";
import type { ApiAccess, HookApi } from "../../core/ports/vendor.ts";
import { toObjects } from "../../core/shared/json.ts";

/** The id of the webhook that posts to an address. */
export async function requireHook(hooks: HookApi, service: string, url: string): Promise<string> {
  const [id] = await hooks.find(url);
  if (id !== undefined) return id;
  throw new DriverError(`${service} has no webhook that posts to ${url}.`, { retryable: false });
}

const ANSWER_MS = 30_000;

/** Opens the API with the token of the access; each call has its own time. */
export function openCalls({ token, signal }: ApiAccess, api: Api): Call {
  const open = createApi({ token, ...api });
  return async (method, ...args) => {
    const answer = await (await open(AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])))(method, ...args);
    // The page of a proxy must not look like a list without webhooks.
    const isRead = method !== "GET" || !isSuccess(answer) || answer.items || Object.keys(answer.body).length > 0;
    if (!isRead) throw toUnreadable(api.service);
    return answer;
  };
}

type Items = Record<string, unknown>[];

/** How many pages of a list are read, so that a faulty answer cannot go on without end. */
const MAX_PAGES = 50;

/** All items of a list. `readPage` gets where a page begins, and says where the next one does; undefined: at the start, at the end. */
export async function readAll(
  readPage: (from: string | undefined) => Promise<{ items: Items; next: string | undefined }>,
): Promise<Items> {
  const found: Items = [];
  let from: string | undefined;
  for (let count = 0; count < MAX_PAGES; count++) {
    const { items, next } = await readPage(from);
    found.push(...items);
    if (next === undefined || next === from) break;
    from = next;
  }
  return found;
}

/** All items of a list whose pages have numbers. A full page has `perPage` items, unless the sender allows fewer and names the next page. */
export function readPages(call: Call, toPath: (page: string) => string, perPage: number): Promise<Items> {
  return readAll(async (page = "1") => {
    const { items = [], body, headers } = await call("GET", toPath(page));
    const list = items.length > 0 ? items : toObjects(body["values"]);
    const isNamed = typeof body["next"] === "string" || /rel="?next\b/.test(headers.get("link") ?? "");
    return { items: list, next: isNamed || list.length >= perPage ? String(Number(page) + 1) : undefined };
  });
}

/** `pull_request.opened` and `pull_request.closed` → `pull_request` */
export function familiesOf(events: readonly string[]): string[] {
  return [...new Set(events.map((event) => event.split(".")[0] ?? event))];
}
