import type { IncomingHttpHeaders } from "node:http";
import type { HookError } from "../errors.ts";

export interface RefusedRequest {
  id: string;
  method: string;
  client: string;
  headers: IncomingHttpHeaders;
}

export type RefusalError = Pick<HookError, "code" | "message">;

export interface RejectionDetails {
  reason?: string;
  hint?: string;
  /** The client has failed too often. */
  isThrottled?: boolean;
}

/** Keeps requests that were refused before their sender was known. */
export interface Rejections {
  /** Keeps a refused request; gives the error back. */
  add<E extends RefusalError>(
    request: RefusedRequest,
    hook: string | undefined,
    error: E,
    details?: RejectionDetails,
  ): E;
}
