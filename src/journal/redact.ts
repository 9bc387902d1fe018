const SECRET_NAME = /authorization|cookie|token|secret|signature|api-?key|password|credential/i;

import { REDACTED } from "../config/redacted.ts";

/** Values that must not be kept, replaced; names stay, so that the operator sees what was there. */
export function redact(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, SECRET_NAME.test(name) ? REDACTED : value]),
  );
}
