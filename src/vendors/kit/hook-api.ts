import { type Api, type Call, createApi, isSuccess, toUnreadable } from "./http.ts";
import { toObjects } from "../../core/shared/json.ts";

/** A webhook as it should be at its sender. */
export interface WantedHook {
  /** The hook's address as the sender knows it. */
  url: string;
  /** Absent where the sender makes it. */
  secret?: string;
  /** The names that the preset gives events, without families and `*`. */
  events: string[];
  /** Whether it has `*`, for senders that have some events only at some places. */
  all: boolean;
}

export interface CreatedHook {
  id: string;
  /** The one that the sender has made, which it shows only now. */
  secret?: string;
  /** What the sender has not taken, in a sentence each. */
  notes?: string[];
}

export interface HookHealth {
  isEnabled: boolean;
  /** What the sender says of it, in a sentence each: why it is off, its last failures. */
  notes: string[];
}

/** The webhooks of one place at a sender: a repository, an account, a bot. Calls reject with a `DriverError`. */
export interface HookApi {
  /** The ids of those that post to exactly this address. */
  find(url: string): Promise<string[]>;
  create(wanted: WantedHook): Promise<CreatedHook>;
  /** A repeated `create` gets the first answer again, with its secret, while that webhook is there. */
  isCreateRepeatable?: true;
  /** Also sets the secret again. Resolves to what the sender has not taken, in a sentence each. */
  update(id: string, wanted: WantedHook): Promise<string[] | void>;
  remove(id: string): Promise<void>;
  /** `events`: those that should arrive. */
  health(id: string, events: readonly string[]): Promise<HookHealth>;
  /** Asks for a test delivery. Absent: the sender has none. */
  test?(id: string): Promise<void>;
  /** Where there can be only one: the address of another that `create` would replace. */
  findOther?(url: string): Promise<string | undefined>;
}

export interface HookAccess {
  token: string;
  /** Default: the sender's own. */
  baseUrl?: string;
  /** Where the webhooks are, as the preset's `registration.place` describes it. */
  place?: string;
  /** The block of the channel's account, whose token it may be. */
  account: Record<string, unknown>;
  signal: AbortSignal;
}

/** A sender whose webhooks can be made by its API. */
export interface Vendor {
  /** "GitHub" */
  service: string;
  /** Who makes the secret. app: an app of the sender has one for all its webhooks, which a person copies. */
  secretBy: "us" | "vendor" | "app";
  /** Environment variables that usually have its token. */
  tokenVariables: readonly string[];
  /** Completes "The token needs …". */
  tokenNeeds: string;
  connect(access: HookAccess): HookApi;
}

const ANSWER_MS = 30_000;

/** Opens the API with the token of the access; each call has its own time. */
export function openCalls({ token, signal }: HookAccess, api: Api): Call {
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
