import { MailError } from "../../core/errors.ts";
import { GOOGLE_TOKEN_URL } from "../../mail/gmail/google.ts";
import { listFolders } from "../../mail/imap/imap.ts";
import { requestDeviceCode } from "./consent.ts";
import { loadMailbox, loginSignal } from "./plan-mailbox.ts";
import { findHint, findObstacle, findServer, type FoundServer, parseMailAddress } from "./servers.ts";
import { toObject } from "../../core/shared/json.ts";
import { isLoopback } from "../../core/shared/net/network.ts";
import { MissingAnswer } from "../setup/terminal.ts";
import { askOAuthClient, askRefreshToken, askSecret, type GetConsent } from "./ask-secret.ts";
import { type Prompter, type Session, textOf } from "./prompter.ts";

/** Part of `hooks.mail.source` as it will be written. */
type WrittenSource = Record<string, unknown>;

/** Asks for an IMAP mailbox: its server, its login, its folders. */
export async function askImap(session: Session, address: string): Promise<WrittenSource> {
  const server = await askServer(session, address);
  for (;;) {
    session.secretFiles.clear();
    const login = await askLogin(session, server.host);
    const source = { kind: "imap", ...toWritten(server, session.current), ...login };
    try {
      return { ...source, folders: await askFolders(session, source) };
    } catch (error) {
      await confirmRetry(session, error, server.host);
    }
  }
}

const TLS = ["implicit", "starttls", "none"] as const;
type Tls = (typeof TLS)[number];
const PORTS: Record<Tls, number> = { implicit: 993, starttls: 143, none: 143 };

interface ServerAnswer {
  host: string;
  tls: Tls;
  port: number;
  user: string;
}

/** Proposes the current server, or the one found for the address. */
async function askServer({ prompter, current }: Session, address: string): Promise<ServerAnswer> {
  const isKnown = prompter.flags.host !== undefined || current["host"] !== undefined;
  const found = isKnown ? undefined : await find(prompter, address);
  const proposed: Partial<ServerAnswer> = found ?? toProposal(current);
  if (found && (await confirmServer(prompter, found))) {
    const { host, tls, port, user } = found;
    return { host, tls, port, user: await askUser(prompter, user) };
  }
  const domain = parseMailAddress(address)?.domain;
  // The usual name is only a suggestion for a person: without one the host must be certain.
  const usualName = prompter.terminal && domain ? `imap.${domain}` : undefined;
  const host = await prompter.text({
    flag: "host",
    message: found || isKnown ? "Server" : `Server (none was found for ${address})`,
    initial: proposed.host ?? usualName,
    check: (answer) =>
      /^[\w.:-]{1,253}$/.test(answer) ? undefined : "expected a server name such as imap.example.com",
  });
  const same = host === proposed.host ? proposed : {};
  const tls = await askTls(prompter, host, same.tls);
  const port = await prompter.text({
    flag: "port",
    message: "Port",
    initial: String((tls === same.tls ? same.port : undefined) ?? PORTS[tls]),
    check: (answer) =>
      /^[1-9]\d*$/.test(answer) && Number(answer) <= 65_535 ? undefined : "a port is a whole number from 1 to 65535",
  });
  return { host, tls, port: Number(port), user: await askUser(prompter, proposed.user ?? address) };
}

async function find(prompter: Prompter, address: string): Promise<FoundServer | undefined> {
  const parsed = parseMailAddress(address);
  if (!parsed) return undefined;
  const { terminal } = prompter;
  const obstacle = findObstacle(parsed);
  if (obstacle) terminal?.warn(obstacle);
  const message = `Looking for the mail server of ${parsed.domain}`;
  const found = await prompter.withSpinner(message, () => findServer(parsed));
  if (found) terminal?.note(`${found.host}, port ${found.port}: from ${found.origin}. ${found.hint ?? ""}`.trim());
  return found;
}

/**
 * Whether to use the found server. A flag that says something else leads to the questions about the server. Throws a
 * `MissingAnswer` if nobody can confirm a server that may be forged, since it would get the password.
 */
export async function confirmServer(
  { flags, terminal }: Pick<Prompter, "flags" | "terminal">,
  { host, isForeign }: Pick<FoundServer, "host" | "isForeign">,
): Promise<boolean> {
  if (isForeign && !terminal) {
    throw new MissingAnswer("--host", `DNS names ${host}, which does not belong to the address's domain`);
  }
  if (flags.tls !== undefined || flags.port !== undefined) return false;
  return terminal ? terminal.confirm(`Use ${host}?`) : true;
}

function toProposal(current: WrittenSource): Partial<ServerAnswer> {
  const tls = TLS.find((how) => how === (current["tls"] ?? "implicit")) ?? "implicit";
  const port = Number(textOf(current, "port") ?? PORTS[tls]);
  return { host: textOf(current, "host"), tls, port, user: textOf(current, "user") };
}

/** Leaves out default values, unless they are written already. */
function toWritten({ host, tls, port, user }: ServerAnswer, current: WrittenSource): object {
  const isDefaultPort = port === PORTS[tls] && current["port"] === undefined;
  const isDefaultTls = tls === "implicit" && current["tls"] === undefined;
  return { host, port: isDefaultPort ? undefined : port, tls: isDefaultTls ? undefined : tls, user };
}

function askTls({ choose }: Prompter, host: string, initial: Tls = "implicit"): Promise<Tls> {
  const choices = [
    { value: "implicit" as const, label: "TLS" },
    { value: "starttls" as const, label: "STARTTLS" },
    { value: "none" as const, label: "None" },
  ];
  const allowed = choices.filter(({ value }) => value !== "none" || isLoopback(host));
  return choose<Tls>({ flag: "tls", message: "Encryption", choices: allowed, initial });
}

function askUser({ text }: Prompter, initial: string): Promise<string> {
  return text({ flag: "user", message: "Login name", initial });
}

async function askLogin(session: Session, host: string): Promise<WrittenSource> {
  const { prompter, current } = session;
  const isOAuth =
    current["oauth"] !== undefined || prompter.flags.oauthClientId !== undefined || host === "outlook.office365.com";
  const login = await prompter.choose({
    flag: "login",
    message: "Login method",
    choices: [
      { value: "password", label: "Password", hint: "many providers require an app password" },
      { value: "oauth", label: "OAuth 2", hint: "a refresh token" },
    ],
    initial: isOAuth ? "oauth" : "password",
  });
  if (login === "oauth") return askOAuth(session, host);
  const question = { title: "Password", fileName: "mail-password", current: current["password"] };
  return { password: await askSecret(session, { flag: "password", ...question }) };
}

/** Providers that require OAuth. */
const OAUTH: Record<string, { tokenUrl: string; scope: string }> = {
  "imap.gmail.com": { tokenUrl: GOOGLE_TOKEN_URL, scope: "https://mail.google.com/" },
  "outlook.office365.com": {
    tokenUrl: "https://login.microsoftonline.com/common/oauth2/v2.0/token",
    scope: "https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send offline_access",
  },
};

/** Microsoft's servers give device codes at an address next to that of the tokens. */
const MICROSOFT_TOKEN_PATH = /\/oauth2\/v2\.0\/token$/;

async function askOAuth(session: Session, host: string): Promise<WrittenSource> {
  const { prompter, current } = session;
  const oauth = toObject(current["oauth"]);
  const tokenUrl = await prompter.text({
    flag: "oauthTokenUrl",
    message: "URL for access tokens",
    initial: textOf(oauth, "tokenUrl") ?? OAUTH[host]?.tokenUrl,
    check: (answer) => (/^https?:\/\/\S+$/.test(answer) ? undefined : "expected a URL that begins with https://"),
  });
  const client = await askOAuthClient(session);
  const scope = await prompter.text({
    flag: "oauthScope",
    message: "Scopes",
    initial: textOf(oauth, "scope") ?? OAUTH[host]?.scope,
    optional: true,
  });
  const deviceUrl = tokenUrl.replace(MICROSOFT_TOKEN_PATH, "/oauth2/v2.0/devicecode");
  const getConsent: GetConsent = async (known) => {
    const { url, userCode, wait } = await requestDeviceCode({ ...known, tokenUrl, deviceUrl, scope });
    return { text: `Open this page in a browser and enter the code ${userCode}:\n\n${url}`, wait };
  };
  const refreshToken = await askRefreshToken(session, client, deviceUrl === tokenUrl ? undefined : getConsent);
  return { oauth: { tokenUrl, ...client, refreshToken, ...(scope && { scope }) } };
}

/** Lets a person choose from the folders of the mailbox. undefined: the default. */
async function askFolders({ prompter, current, target, ...wanted }: Session, source: WrittenSource): Promise<unknown> {
  const { terminal, flags } = prompter;
  if (flags.folder) return flags.folder;
  if (!terminal || !flags.check) return current["folders"];
  const mailbox = await loadMailbox(target, { ...wanted, source });
  const choices = await terminal.withSpinner("Logging in", () => listFolders(mailbox, loginSignal()));
  const initial = Array.isArray(current["folders"]) ? current["folders"].map(String) : ["INBOX"];
  return terminal.chooseSeveral({ message: "Which folders should be watched?", choices, initial });
}

/** Rejects with the error, unless it is a refused login and the person wants to try again. */
async function confirmRetry({ prompter: { terminal } }: Session, error: unknown, host: string): Promise<void> {
  if (!terminal || !(error instanceof MailError) || error.kind !== "login") throw error;
  terminal.warn([error.message, findHint(host)].filter(Boolean).join(" "));
  if (!(await terminal.confirm("Try another login?"))) throw error;
}
