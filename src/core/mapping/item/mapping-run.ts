import type { ToolSets } from "../../ports/open-tool-sets.ts";
import { exactPayload } from "../../shared/exact-json.ts";
import { isObject } from "../../shared/json.ts";
import type { HookRequest } from "../../types.ts";
import type { FindSent } from "./continued.ts";
import type { Changes } from "./join-change.ts";
import type { IsOwn } from "../match.ts";
import type { TargetOptions } from "../policy/event-place.ts";
import type { SessionScope } from "../policy/session-keys.ts";
import type { RequestState } from "../state.ts";
import type { TransformDraftOptions } from "../transform.ts";

/** Everything that is the same for all items of a request. */
export interface MappingRun extends TargetOptions, Pick<TransformDraftOptions, "run" | "state" | "log"> {
  /** Whether the channel message with this id was sent by a delivery within hooks.dedupeWindow. Absent: none was. */
  isEcho?(messageId: string, channel: string | undefined): Promise<boolean>;
  /** Whether a delivery to this recipient, as a thread, was sent. Absent: none was. */
  hasSpoken?(channel: string, to: string): Promise<boolean>;
  /** Absent: no event continues a session by what it answers. */
  findSent?: FindSent;
  /** Absent: nothing is kept of changes. */
  changes?: Changes;
  /** Absent: no comment counts as the service's own. */
  isOwn?: IsOwn;
  /** Keeps who takes part in the sessions of a mapping with `participants`. */
  people?: RequestState;
  /** Absent: arguments of `context` are not compared with the schemas of their calls. */
  tools?: Pick<ToolSets, "find">;
  /** The items without what `hooks.redact` names, for subscribers. */
  listPublished(): Item[];
  /** The sessions that the mapping leads to. undefined: any. */
  sessions?: SessionScope;
}

/** The source of one action, or of one call of a transform: the whole request or one item of it. */
export interface Item {
  payload: unknown;
  /** Set under `forEach`. */
  each?: { item: unknown; index: number };
}

/** A template's context: the fields of the payload, and those of the request, which win. */
export function toContext({ payload, each }: Item, request: HookRequest): object {
  const { headers, query, path, method } = request;
  return {
    // Only own fields are copied, `__proto__` included, so nothing is inherited.
    ...(isObject(payload) && payload),
    payload,
    headers,
    query,
    path,
    method,
    now: toNow(request),
    ...each,
  };
}

export function toNow({ receivedAt }: HookRequest): string {
  return new Date(receivedAt).toISOString();
}

/** A template's context for a whole request. */
export function toRequestContext(request: HookRequest): object {
  return toContext({ payload: exactPayload(request) }, request);
}
