import { createId } from "../create-id.ts";
import type { ResolvedConfig } from "../config/resolved.ts";
import { HookError } from "../errors.ts";
import { MAIN_SESSION } from "../types.ts";

const MAX_LENGTH = 256;
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/**
 * The session of an agent action. Hooks have a space of their own: a key that reads as the main session's is another
 * one. `given` is trimmed; `byRequest`: the request itself chose it. Throws a 400 `HookError` for a key that is refused.
 */
export function resolveSessionKey(
  given: string | undefined,
  byRequest: boolean,
  hooks: ResolvedConfig["hooks"],
): string {
  if (given === undefined) return hooks.defaultSessionKey ?? `hook:${createId()}`;
  if (byRequest && !hooks.allowRequestSessionKey) throw refusal("cannot be chosen by a request");
  if (given.length > MAX_LENGTH) throw refusal(`can have ${MAX_LENGTH} characters at most`);
  if (CONTROL.test(given) || !given.isWellFormed()) throw refusal("must not hold control characters");
  if (!hasAllowedPrefix(given, hooks.allowedSessionKeyPrefixes)) {
    throw refusal("does not start with one of the prefixes that are allowed");
  }
  return given.toLowerCase() === MAIN_SESSION ? `hook:${MAIN_SESSION}` : given;
}

function hasAllowedPrefix(key: string, prefixes: string[]): boolean {
  return prefixes.length === 0 || prefixes.some((prefix) => key.startsWith(prefix));
}

function refusal(reason: string): HookError {
  return new HookError(400, "session_key_refused", `sessionKey ${reason}.`);
}
