import type { Command } from "commander";
import type { WriteFlags } from "../change.ts";
import { addItem, addWriteOptions, CONFIG_HELP } from "../command.ts";

/** The answers that a flag can give as text: the placeholder of its value, and the help. */
const TEXT_FLAGS = {
  address: ["<address>", "the mail address"],
  name: ["<name>", "the mailbox's name, if there are several (default for another one: the address)"],
  kind: ["<kind>", "imap, or gmail for Gmail's own API"],
  host: ["<name>", "imap: the server (default: found from the address)"],
  port: ["<number>", "imap: the port"],
  tls: ["<how>", "imap: implicit, starttls, or none for a server on this machine"],
  user: ["<name>", "the login name (default: the address)"],
  login: ["<how>", "imap: password or oauth"],
  oauthTokenUrl: ["<url>", "imap: where access tokens come from"],
  oauthClientId: ["<id>", "the OAuth client"],
  oauthScope: ["<scopes>", "imap: scopes to request, separated by spaces"],
  channel: ["<name>", "messaging channel for replies"],
  to: ["<recipient>", "recipient on the channel"],
  model: ["<name>", "provider/model or an alias"],
  thinking: ["<level>", "low, medium, high"],
  instructions: ["<text>", "your own instructions for the agent"],
} as const;

/** There are no flags for secrets, since other users of the machine can see command lines. */
const SECRET_FLAGS = {
  password: "the password",
  oauthClientSecret: "the OAuth client's secret",
  oauthRefreshToken: "the OAuth refresh token",
} as const;

export type SecretFlag = keyof typeof SECRET_FLAGS;
export type TextFlag = keyof typeof TEXT_FLAGS | `${SecretFlag}Env` | `${SecretFlag}File`;

/** The flags of `webhooks mail setup`: one for each question, so that the command also runs without a terminal. */
export type SetupFlags = Partial<Record<TextFlag, string>> &
  Partial<Record<`${SecretFlag}Stdin`, boolean>> &
  WriteFlags & {
    config?: string;
    folder?: string[];
    /** False with --no-check. */
    check: boolean;
  };

export function addSetupFlags(command: Command): Command {
  command.option("--config <file>", `${CONFIG_HELP}; created if missing`);
  for (const [name, [value, help]] of Object.entries(TEXT_FLAGS)) command.option(`${toFlag(name)} ${value}`, help);
  for (const [name, what] of Object.entries(SECRET_FLAGS)) {
    command
      .option(`${toFlag(name)}-env <NAME>`, `the environment variable that holds ${what}`)
      .option(`${toFlag(name)}-file <file>`, `the file that holds ${what}`)
      .option(`${toFlag(name)}-stdin`, `read ${what} from standard input, and store it in a file of the state folder`);
  }
  return addWriteOptions(command)
    .option("--folder <name>", "imap: a folder to watch; can be repeated (default: INBOX)", addItem)
    .option("--no-check", "write without a test login");
}

/** `passwordEnv` → `--password-env` */
export function toFlag(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
