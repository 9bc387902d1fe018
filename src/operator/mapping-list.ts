import type { MappingSource } from "../config/types.ts";
import type { EventCounts, MappingUse } from "./activity.ts";
import type { Rejection } from "./rejections.ts";

/** A mapping in the order in which it is tried. */
export interface MappingView {
  id: string;
  preset?: string;
  /** Where it is written. */
  file?: string;
  key: string;
  /** The conditions, as they are written. */
  match: object;
  action: "wake" | "agent";
  /** The signature scheme; absent: the hook token. */
  auth?: string;
  /** Another one before it takes all its requests. */
  shadowed: boolean;
  /** The address to give to its sender; absent if it takes any path. */
  url?: string;
  /** Its events since the start of the service, by how they began. */
  events: EventCounts;
  /** The part of them that was refused or failed, from 0 to 1. */
  errorRate: number;
  lastAt?: string;
  lastFailureAt?: string;
  /** The refused requests to its hook among the last 500. */
  rejected: { count: number; lastAt?: string; reason?: string };
}

interface MappingListOptions {
  sources: MappingSource[];
  /** Ids of those that are never reached. */
  shadowed: ReadonlySet<string>;
  uses: ReadonlyMap<string, MappingUse>;
  /** Newest first. */
  rejections: Rejection[];
  /** The service's address with `hooks.path`. */
  hooksUrl: string;
}

export function toMappingViews({ sources, shadowed, uses, rejections, hooksUrl }: MappingListOptions): MappingView[] {
  const byHook = Map.groupBy(rejections, ({ hook }) => hook);
  return sources.map(({ id, preset, file, key, mapping }) => {
    const { match = {}, action = "agent", auth } = mapping;
    const { events = {}, lastAt, lastFailureAt } = uses.get(id) ?? {};
    const refused = match.path === undefined ? [] : (byHook.get(match.path) ?? []);
    return {
      id,
      preset,
      file,
      key,
      match,
      action,
      auth: auth?.scheme,
      shadowed: shadowed.has(id),
      url:
        match.path === undefined ? undefined : `${hooksUrl}/${match.path.split("/").map(encodeURIComponent).join("/")}`,
      events,
      errorRate: toErrorRate(events),
      lastAt: toIso(lastAt),
      lastFailureAt: toIso(lastFailureAt),
      rejected: { count: refused.length, lastAt: toIso(refused[0]?.at), reason: refused[0]?.reason },
    };
  });
}

function toErrorRate(events: EventCounts): number {
  const total = Object.values(events).reduce((sum, count) => sum + count, 0);
  return total === 0 ? 0 : ((events.rejected ?? 0) + (events.failed ?? 0)) / total;
}

function toIso(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}
