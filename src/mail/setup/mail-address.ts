import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import { isHostName } from "./found-server.ts";

export interface MailAddress {
  /** As it was written, the domain in ASCII and lower case. */
  address: string;
  local: string;
  domain: string;
}

/** Takes an address apart. undefined: it is none that mail can reach from here. */
export function parseMailAddress(text: string): MailAddress | undefined {
  const [, local, written] = /^([^\s@"<>]{1,64})@([^\s@"<>:/?#%\\[\]]{1,253})$/.exec(text.trim()) ?? [];
  if (local === undefined || written === undefined) return undefined;
  const domain = domainToASCII(written).replace(/\.$/, "");
  if (!isHostName(domain) || isIP(domain) !== 0) return undefined;
  return { address: `${local}@${domain}`, local, domain };
}
