import { error, type Finding, warning } from "../finding.ts";
import type { ResolvedConfig } from "../resolved.ts";
import { sameSecret } from "../secret.ts";

/** What 24 random letters and digits hold is out of reach of guessing. */
const SHORT = 24;

/** The hook token is there while hooks are on, is long, and opens nothing but hooks. */
export function checkToken({ gateway, hooks }: ResolvedConfig): Finding[] {
  if (hooks.token === "") {
    return hooks.enabled
      ? [error("hooks.token", "is required while hooks.enabled is true: set a long random secret")]
      : [];
  }
  if (gateway.token !== undefined && sameSecret(hooks.token, gateway.token)) {
    return [
      error(
        "hooks.token",
        "must not be the same as gateway.auth.token: whoever may post hooks would be the operator",
      ),
    ];
  }
  return hooks.token.length < SHORT
    ? [warning("hooks.token", `is shorter than ${SHORT} characters and could be guessed`)]
    : [];
}
