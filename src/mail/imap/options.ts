import type { FromSchema } from "json-schema-to-ts";
import { MailError } from "../../errors.ts";
import type { OptionProblem } from "../../plugin.ts";
import { isLoopback } from "../../shared/network.ts";
import { checkHttps, oauthSchema, TEXT } from "../options.ts";

export const imapSchema = {
  type: "object",
  additionalProperties: false,
  description: "Any mailbox that speaks IMAP.",
  required: ["host", "user"],
  properties: {
    host: { ...TEXT, description: "The server's name." },
    port: { type: "integer", minimum: 1, maximum: 65_535, description: "Default: 993, without implicit TLS 143." },
    tls: {
      enum: ["implicit", "starttls", "none"],
      default: "implicit",
      description: "none is for a server on this machine only.",
    },
    user: { ...TEXT, description: "The login name." },
    password: { ...TEXT, description: "As ${ENV} or ${file:PATH}. Set either this or oauth." },
    oauth: { ...oauthSchema, description: "Access by OAuth 2, with a refresh token." },
    folders: {
      type: "array",
      items: TEXT,
      minItems: 1,
      maxItems: 10,
      uniqueItems: true,
      default: ["INBOX"],
      description: "The folders to follow, one connection each.",
    },
  },
} as const;

export type ImapOptions = FromSchema<typeof imapSchema>;

/** Checks that the schema cannot express. */
export function checkImap({ host, tls, password, oauth }: ImapOptions): OptionProblem[] {
  const problems = checkHttps({ "oauth.tokenUrl": oauth?.tokenUrl });
  if (!password && !oauth) problems.push({ key: "password", message: "is required, or oauth instead" });
  if (password && oauth) problems.push({ key: "oauth", message: "set either password or oauth, not both" });
  if (oauth && !oauth.tokenUrl) problems.push({ key: "oauth.tokenUrl", message: "is required for an IMAP mailbox" });
  if (tls === "none" && !isLoopback(host)) {
    problems.push({
      key: "tls",
      message: '"none" would send the password in clear text: it is for this machine only',
    });
  }
  return problems;
}

/** How a server is reached, with the defaults filled in. */
export interface ImapServer {
  host: string;
  port: number;
  tls: "implicit" | "starttls" | "none";
  user: string;
}

const PORTS = { implicit: 993, starttls: 143, none: 143 };
export function resolveServer({ host, port, tls, user }: ImapOptions): ImapServer {
  // The configuration is checked too, but setup connects before that.
  if (tls === "none" && !isLoopback(host)) throw new MailError("tls", `${host} is not this machine: TLS is required`);
  return { host, port: port ?? PORTS[tls], tls, user };
}

/** `imap://ann@mail.example.com`, with the port unless it is the default. */
export function toMailboxUrl({ host, port, tls, user }: ImapServer): string {
  const name = host.includes(":") ? `[${host}]` : host;
  const suffix = port === PORTS[tls] ? "" : `:${port}`;
  return `imap://${encodeURIComponent(user)}@${name}${suffix}`;
}
