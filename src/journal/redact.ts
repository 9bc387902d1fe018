import { REDACTED } from "../config/redacted.ts";

/** Within a name of which only letters and digits are left, so that `api_key`, `X-Api-Key` and `apiKey` are one. */
const SECRET_NAME =
  /auth(?!or(?!i[sz]))|cookie|token|secret|signature|apikey|accesskey|privatekey|passw|passphrase|pwd|credential|bearer|jwt|hmac|session|^sig$/;

/** Values that must not be kept, replaced; names stay, so that the operator sees what was there. */
export function redact(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      SECRET_NAME.test(name.toLowerCase().replace(/[^a-z0-9]/g, "")) ? REDACTED : value,
    ]),
  );
}
