import type { FromSchema } from "json-schema-to-ts";
import type { DriverDefinition, OptionProblem } from "../../plugin.ts";
import { checkHttps, isLoopback, oauthSchema, TEXT } from "../options.ts";
import type { MailSource } from "../source.ts";

const schema = {
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

export type ImapOptions = FromSchema<typeof schema>;

export const imap: DriverDefinition<MailSource, ImapOptions> = {
  schema,
  check,
  // The libraries are large: a service without such a mailbox starts without them.
  create: async (options) => (await import("./imap.ts")).createImap(options),
};

function check({ host, tls, password, oauth }: ImapOptions): OptionProblem[] {
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
