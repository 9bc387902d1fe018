import type { HookRequest } from "../types.ts";
import { requireBodyKind } from "./body-kind.ts";
import type { Exchange } from "./exchange.ts";
import { inflate, parseCodings } from "./inflate.ts";
import { parseBody } from "./parse-body.ts";
import { bodyTooLarge, readBody } from "./read-body.ts";
import { sendContinue } from "./send-continue.ts";

/**
 * Reads and parses the body into `request`, whose `rawBody` is set as soon as it is known. Throws the 4xx of a body that
 * cannot be taken. False: the client went away.
 */
export async function readRequest(
  { req, res }: Exchange,
  request: HookRequest,
  limits: { maxBytes: number; timeoutMs: number },
): Promise<boolean> {
  if (Number(req.headers["content-length"] ?? 0) > limits.maxBytes) throw bodyTooLarge(limits.maxBytes);
  const kind = requireBodyKind(request.contentType);
  const codings = parseCodings(req.headers["content-encoding"] ?? "");

  sendContinue(req, res);
  const body = await readBody(req, limits);
  if (body === undefined) return false;

  request.rawBody = codings.length > 0 ? await inflate(body, codings, limits.maxBytes) : body;
  Object.assign(request, parseBody(kind, request.rawBody));
  return true;
}
