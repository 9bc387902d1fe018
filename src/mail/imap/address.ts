import { isLoopback } from "../../config/is-loopback.ts";
import type { Mailbox } from "../../config/schema/generated.ts";
import { MailError } from "../../errors.ts";

/** How a server is reached, everything filled in. */
export interface ImapServerAddress {
  host: string;
  port: number;
  tls: "implicit" | "starttls" | "none";
  user: string;
}

const PORTS = { implicit: 993, starttls: 143, none: 143 };

/** The address of a mailbox as it is configured. Throws a `MailError` where it says too little, or would send a password in clear. */
export function resolveAddress({ host, port, tls = "implicit", user }: Mailbox): ImapServerAddress {
  if (!host || !user) {
    throw new MailError("login", "hooks.mail.source needs `host` and `user`. Run `webhooks mail setup`.");
  }
  if (tls === "none" && !isLoopback(host)) {
    throw new MailError("login", `hooks.mail.source.tls: "none" is for a server on this machine, and ${host} is none.`);
  }
  return { host, port: port ?? PORTS[tls], tls, user };
}

/** `imap://ann@mail.example.com`; with the port where it is not the usual one. */
export function toMailboxUrl({ host, port, tls, user }: ImapServerAddress): string {
  const name = host.includes(":") ? `[${host}]` : host;
  const suffix = port === PORTS[tls] ? "" : `:${port}`;
  return `imap://${encodeURIComponent(user)}@${name}${suffix}`;
}
