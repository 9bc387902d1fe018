import type { HookRequest } from "../types.ts";
import type { StoredRequest } from "./port.ts";
import { redact } from "./redact.ts";
import { type PayloadPath, redactPayload } from "./redact-payload.ts";

/** The request as it is kept: without the values of headers and query parameters that bear secrets, or what the paths lead to. */
export function toStoredRequest(request: HookRequest, secrets: readonly PayloadPath[]): StoredRequest {
  return {
    method: request.method,
    path: request.path,
    query: redact(request.query),
    headers: redact(request.headers),
    ...toStoredBody(request, secrets),
    client: request.client,
  };
}

const NOTHING = Buffer.alloc(0);

/** Byte for byte as it came, unless a path leads to something in it: then as JSON. */
function toStoredBody(
  { contentType, rawBody, payload }: HookRequest,
  secrets: readonly PayloadPath[],
): Pick<StoredRequest, "contentType" | "body"> {
  if (secrets.length === 0) return { contentType, body: rawBody };
  // It could not be read, so nobody knows what stands where in it.
  if (payload === undefined) return { contentType, body: NOTHING };
  const redacted = redactPayload(payload, secrets);
  if (redacted === payload) return { contentType, body: rawBody };
  return { contentType: "application/json", body: Buffer.from(JSON.stringify(redacted)) };
}
