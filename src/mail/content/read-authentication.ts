import type { MailAuthentication } from "../port.ts";
import type { MailHeader } from "./read-header.ts";

/** Written next. */
export function readAuthentication(header: MailHeader, authservId: string | undefined): MailAuthentication {
  return header.values("authentication-results").length > 0 && authservId ? {} : {};
}
