import type { FastifyReply, FastifyRequest } from "fastify";
import { HookError } from "../errors.ts";

export interface OperatorAuth {
  /** `gateway.auth.token`; undefined: the operator's side is off. */
  token(): string | undefined;
  /** Constant-time comparison. */
  sameSecret(a: string, b: string): boolean;
}

/** Lets a request to the operator's side through only with the gateway token. */
export function createAuthenticate({ token, sameSecret }: OperatorAuth) {
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
