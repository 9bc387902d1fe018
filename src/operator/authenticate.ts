import type { FastifyReply, FastifyRequest } from "fastify";
import { sameSecret } from "../config/secret.ts";
import { HookError } from "../errors.ts";

/** Lets a request to the operator's side through only with the gateway token; without one that side is off. */
export function createAuthenticate(token: () => string | undefined) {
  return async function authenticate(request: FastifyRequest, _reply: FastifyReply): Promise<void> {
    const expected = token();
    if (expected === undefined) throw new HookError(404, "not_found", "There is nothing here.");
    const given = /^bearer +(.+)$/i.exec(request.headers.authorization ?? "")?.[1]?.trim();
    if (given !== undefined && sameSecret(given, expected)) return;
    throw new HookError(401, "unauthorized", "The gateway token is missing or wrong.", {
      headers: { "WWW-Authenticate": "Bearer" },
    });
  };
}
