import type { Call, OpenApi } from "../channels/http.ts";
import { toObjects } from "../shared/json.ts";

/** A webhook as it should be at its sender. */
export interface WantedHook {
  /** The hook's address as the sender knows it. */
  url: string;
  /** Absent where the sender makes it. */
  secret?: string;
  /** The names that the preset gives events, without families and `*`. */
  events: string[];
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

/** Calls the API; each call has its own time. */
export function callWith(open: OpenApi, { signal }: HookAccess): Call {
  return async (...args) => (await open(AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])))(...args);
}

/** How many pages of a list are read, so that a faulty answer cannot go on without end. */
export const MAX_PAGES = 50;

/** All items of a list that is read page by page, each with `perPage` items but the last. */
export async function readPages(
  call: Call,
  toPath: (page: number) => string,
  perPage: number,
): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { items, body } = await call("GET", toPath(page));
    const list = items?.length ? items : toObjects(body["values"]);
    found.push(...list);
    if (list.length < perPage) break;
  }
  return found;
}

/** `pull_request.opened` and `pull_request.closed` → `pull_request` */
export function familiesOf(events: readonly string[]): string[] {
  return [...new Set(events.map((event) => event.split(".")[0] ?? event))];
}
