/** A mail server that speaks TLS, as it was found for an address. What it says comes from outside. */
export interface FoundServer {
  host: string;
  port: number;
  tls: "implicit" | "starttls";
  /** The login name for the address. */
  user: string;
  /** Where it was found, for a person: `DNS`. */
  origin: string;
  /** What a person must know before the login can work. */
  hint?: string;
  /** Only DNS names it, which anyone on the way can forge, and it is no server of the domain's: a person must want it (RFC 6186, 6). */
  isForeign?: true;
  /** Whether Gmail's own API leads to the mailbox too. */
  gmail?: true;
}

/** Whether a name that came from outside can be a server's: letters, digits, hyphens and dots, at most 253 characters. */
export function isHostName(name: string): boolean {
  return name.length <= 253 && name.includes(".") && name.split(".").every((label) => LABEL.test(label));
}

const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/i;
