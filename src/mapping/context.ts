import { isObject } from "../config/is-object.ts";
import type { HookRequest } from "../types.ts";
import type { Unit } from "./fan-out.ts";

/**
 * What a template sees. The payload's own fields stand beside the named ones, which win; `item` and `index` are named
 * under `forEach` only. Spreading makes fields of what the payload holds, also of `__proto__`: nothing is inherited.
 */
export function createContext(request: HookRequest, { payload, each }: Unit): object {
  const { headers, query, path, method } = request;
  const now = new Date(request.receivedAt).toISOString();
  return { ...(isObject(payload) && payload), payload, headers, query, path, method, now, ...each };
}
