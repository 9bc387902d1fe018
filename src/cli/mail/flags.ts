import type { Command } from "commander";

/** What can be answered on the command line. */
export interface SetupFlags {
  config?: string;
  address?: string;
  kind?: string;
  host?: string;
  port?: string;
  tls?: string;
  user?: string;
  login?: string;
  passwordEnv?: string;
  passwordFile?: string;
  passwordStdin?: boolean;
  oauthTokenUrl?: string;
  oauthClientId?: string;
  oauthScope?: string;
  oauthClientSecretEnv?: string;
  oauthClientSecretFile?: string;
  oauthClientSecretStdin?: boolean;
  oauthRefreshTokenEnv?: string;
  oauthRefreshTokenFile?: string;
  oauthRefreshTokenStdin?: boolean;
  folder?: string[];
  news?: string;
  topic?: string;
  subscription?: string;
  preparePubsub?: boolean;
  pushAudience?: string;
  pushServiceAccount?: string;
  channel?: string;
  to?: string;
  model?: string;
  thinking?: string;
  instructions?: string;
  /** False with --no-check. */
  check: boolean;
  yes: boolean;
  dryRun: boolean;
  json: boolean;
}

const SECRETS = [
  ["password", "the password"],
  ["oauth-client-secret", "the OAuth client's secret"],
  ["oauth-refresh-token", "the OAuth refresh token"],
] as const;

/** Adds the flags: one for each question, so that the command runs without a terminal. No flag takes a secret itself. */
export function addSetupFlags(command: Command, configHelp: string): Command {
  command
    .option("--config <file>", `${configHelp}; it is made where there is none`)
    .option("--address <address>", "the mail address")
    .option("--kind <kind>", "imap, or gmail for Gmail's own API")
    .option("--host <name>", "imap: the server (default: found from the address)")
    .option("--port <number>", "imap: its port")
    .option("--tls <how>", "imap: implicit, starttls, or none for a server on this machine")
    .option("--user <name>", "the login name (default: the address)")
    .option("--login <how>", "imap: password or oauth");
  for (const [name, what] of SECRETS) {
    command
      .option(`--${name}-env <NAME>`, `the environment variable that holds ${what}`)
      .option(`--${name}-file <file>`, `the file that holds ${what}`)
      .option(`--${name}-stdin`, `read ${what} from standard input, and keep it in a file of the state folder`);
  }
  return command
    .option("--oauth-token-url <url>", "imap: where access tokens come from")
    .option("--oauth-client-id <id>", "the OAuth client")
    .option("--oauth-scope <scopes>", "imap: scopes to ask for, separated by spaces")
    .option("--folder <name>", "imap: a folder to follow; may stand several times (default: INBOX)", addTo)
    .option("--news <how>", "gmail: poll once a minute, pull from Pub/Sub, or have it push")
    .option("--topic <name>", "gmail: projects/<project>/topics/<name>")
    .option("--subscription <name>", "gmail: projects/<project>/subscriptions/<name>")
    .option("--prepare-pubsub", "gmail: make topic and subscription where they are not there yet")
    .option("--push-audience <audience>", "gmail: the audience of the push subscription")
    .option("--push-service-account <address>", "gmail: the service account that signs what is pushed")
    .option("--channel <name>", "messaging channel for replies")
    .option("--to <recipient>", "recipient on the channel")
    .option("--model <name>", "provider/model or an alias")
    .option("--thinking <level>", "low, medium, high")
    .option("--instructions <text>", "your own words to the agent")
    .option("--no-check", "write without trying the login")
    .option("--yes", "write without asking", false)
    .option("--dry-run", "show the change and write nothing", false)
    .option("--json", "ask nothing, print one JSON object", false);
}

function addTo(value: string, values: string[] = []): string[] {
  return [...values, value];
}
