import type { Command } from "commander";

/** The flags of `webhooks mail setup`: one for each question, so that the command also runs without a terminal. */
export type SetupFlags = Partial<Record<TextFlag | `${SecretFlag}Env` | `${SecretFlag}File`, string>> &
  Partial<Record<`${SecretFlag}Stdin`, boolean>> & {
    config?: string;
    folder?: string[];
    preparePubsub?: boolean;
    /** False with --no-check. */
    check: boolean;
    yes: boolean;
    dryRun: boolean;
    json: boolean;
  };

type TextFlag =
  | "address"
  | "kind"
  | "host"
  | "port"
  | "tls"
  | "user"
  | "login"
  | "oauthTokenUrl"
  | "oauthClientId"
  | "oauthScope"
  | "news"
  | "topic"
  | "subscription"
  | "pushAudience"
  | "pushServiceAccount"
  | "channel"
  | "to"
  | "model"
  | "thinking"
  | "instructions";

export type SecretFlag = "password" | "oauthClientSecret" | "oauthRefreshToken";

const SECRETS = [
  ["password", "the password"],
  ["oauth-client-secret", "the OAuth client's secret"],
  ["oauth-refresh-token", "the OAuth refresh token"],
] as const;

/** Adds the flags. None takes a secret itself, since other users of the machine can see command lines. */
export function addSetupFlags(command: Command, configHelp: string): Command {
  command
    .option("--config <file>", `${configHelp}; created if missing`)
    .option("--address <address>", "the mail address")
    .option("--kind <kind>", "imap, or gmail for Gmail's own API")
    .option("--host <name>", "imap: the server (default: found from the address)")
    .option("--port <number>", "imap: the port")
    .option("--tls <how>", "imap: implicit, starttls, or none for a server on this machine")
    .option("--user <name>", "the login name (default: the address)")
    .option("--login <how>", "imap: password or oauth");
  for (const [name, what] of SECRETS) {
    command
      .option(`--${name}-env <NAME>`, `the environment variable that holds ${what}`)
      .option(`--${name}-file <file>`, `the file that holds ${what}`)
      .option(`--${name}-stdin`, `read ${what} from standard input, and store it in a file of the state folder`);
  }
  return command
    .option("--oauth-token-url <url>", "imap: where access tokens come from")
    .option("--oauth-client-id <id>", "the OAuth client")
    .option("--oauth-scope <scopes>", "imap: scopes to request, separated by spaces")
    .option("--folder <name>", "imap: a folder to watch; can be repeated (default: INBOX)", append)
    .option("--news <how>", "gmail: poll once a minute, pull from Pub/Sub, or push by Pub/Sub")
    .option("--topic <name>", "gmail: projects/<project>/topics/<name>")
    .option("--subscription <name>", "gmail: projects/<project>/subscriptions/<name>")
    .option("--prepare-pubsub", "gmail: create the topic and the subscription if they do not exist")
    .option("--push-audience <audience>", "gmail: the audience of the push subscription")
    .option("--push-service-account <address>", "gmail: the service account that signs pushed messages")
    .option("--channel <name>", "messaging channel for replies")
    .option("--to <recipient>", "recipient on the channel")
    .option("--model <name>", "provider/model or an alias")
    .option("--thinking <level>", "low, medium, high")
    .option("--instructions <text>", "your own instructions for the agent")
    .option("--no-check", "write without a test login")
    .option("--yes", "write without a question", false)
    .option("--dry-run", "show the change and write nothing", false)
    .option("--json", "no questions; print one JSON object", false);
}

function append(value: string, values: string[] = []): string[] {
  return [...values, value];
}
