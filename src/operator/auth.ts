import type { FastifyReply, FastifyRequest } from "fastify";
import { HookError } from "../errors.ts";
import type { GuessGuard } from "../ingress/auth/throttle.ts";
import { sameSecret } from "../shared/secret.ts";

export interface AuthenticateOptions {
  /** `gateway.auth.token`. */
  token(): string | undefined;
  /** Of this token alone: who has shown another gets no new guesses at it. */
  guard: GuessGuard;
  /** The client that failures are counted under, from its address. */
  toClient(address: string): string;
}

/** Lets a request to the operator's side through only with the gateway token; without one that side is off. */
export function createAuthenticate({ token, guard, toClient }: AuthenticateOptions) {
  return async function authenticate(request: FastifyRequest, _reply: FastifyReply): Promise<void> {
    const expected = token();
    if (expected === undefined) throw new HookError("not_found");
    const client = toClient(request.ip);
    const given = /^bearer +(.+)$/i.exec(request.headers.authorization ?? "")?.[1]?.trim();
    if (given !== undefined && sameSecret(given, expected)) return guard.passed(client);
    guard.failed(client);
    throw new HookError("unauthorized", { message: "The gateway token is missing or wrong." });
  };
}
