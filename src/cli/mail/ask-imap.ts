import { isLoopback } from "../../config/is-loopback.ts";
import { MailError } from "../../errors.ts";
import { listFolders } from "../../mail/imap/imap.ts";
import { findServer } from "../../mail/setup/discover.ts";
import { partOf } from "../../mail/setup/plan.ts";
import { findHint, findObstacle, type FoundServer, parseMailAddress } from "../../mail/setup/providers.ts";
import { type Asker, askSecret } from "./prompts.ts";
import { isTaken, loginTimeout, type MailboxAnswer, resolveMailbox, type Session, textOf } from "./session.ts";

/** Asks for a mailbox that speaks IMAP: where it is, how it is opened, which folders count. */
export async function askImap(session: Session, address: string): Promise<MailboxAnswer> {
  const server = await askServer(session, address);
  for (;;) {
    const login = await askLogin(session, server.host);
    const source = { kind: "imap", ...toWritten(server, session.current), ...login.source };
    try {
      const folders = await askFolders(session, { ...login, source });
      return { ...login, source: { ...source, folders } };
    } catch (error) {
      await requireAnotherTry(session, error, server.host);
    }
  }
}

/** Whoever mistypes a password need not begin anew. Rejects with the error where it is another, or no more is wanted. */
async function requireAnotherTry({ asker: { person } }: Session, error: unknown, host: string): Promise<void> {
  if (!person || !(error instanceof MailError) || error.kind !== "login") throw error;
  person.warn([error.message, findHint(host)].filter(Boolean).join(" "));
  if (!(await person.confirm("Say once more how it logs in?"))) throw error;
}

async function askLogin(session: Session, host: string): Promise<MailboxAnswer> {
  const { asker, current } = session;
  const isOAuth = current["oauth"] !== undefined || asker.flags.oauthClientId !== undefined;
  const login = await asker.choose({
    flag: "login",
    message: "How does it log in?",
    choices: [
      { value: "password", label: "With a password", hint: "many providers want one that is made for apps" },
      { value: "oauth", label: "With OAuth 2", hint: "a refresh token" },
    ],
    initial: isOAuth ? "oauth" : "password",
  });
  return login === "oauth" ? askOAuth(session, host) : askPassword(session);
}

async function askPassword({ asker, target, current }: Session): Promise<MailboxAnswer> {
  const { reference, unwritten } = await askSecret(
    asker,
    { flag: "password", title: "Password", fileName: "mail-password", current: current["password"] },
    target,
  );
  return { source: { password: reference }, unwritten: new Map(unwritten && [unwritten]) };
}

/** Shows a person what the mailbox has. undefined: as it is by default. */
async function askFolders(session: Session, answer: MailboxAnswer): Promise<unknown> {
  const { asker, current, target } = session;
  const { person } = asker;
  if (asker.flags.folder) return asker.flags.folder;
  if (!person || !asker.flags.check) return current["folders"];
  const source = await resolveMailbox(target, answer);
  const there = await asker.during("Logging in", () => listFolders(source, loginTimeout()));
  const chosen = Array.isArray(current["folders"]) ? current["folders"].map(String) : ["INBOX"];
  return person.several({ message: "Which folders count?", choices: there, initial: chosen });
}

const TLS = ["implicit", "starttls", "none"] as const;
type Tls = (typeof TLS)[number];
const PORTS: Record<Tls, number> = { implicit: 993, starttls: 143, none: 143 };

/** How a mailbox's server is reached, as `hooks.mail.source` says it. */
interface ServerAnswer {
  host: string;
  tls: Tls;
  port: number;
  user: string;
}

/** Proposes the server that is written now, else the one that is found for the address, and asks what to take. */
async function askServer({ asker, current }: Session, address: string): Promise<ServerAnswer> {
  const isKnown = asker.flags.host !== undefined || current["host"] !== undefined;
  const found = isKnown ? undefined : await find(asker, address);
  const message = found || isKnown ? "Server" : `Server (none was found for ${address})`;
  const proposed: Partial<ServerAnswer> = found ?? toProposal(current);
  if (found && (await isTaken(asker, found))) {
    const { host, tls, port, user } = found;
    return { host, tls, port, user: await askUser(asker, user) };
  }

  const host = await asker.text({
    flag: "host",
    message,
    initial: proposed.host,
    check: checkHost,
  });
  const same = host === proposed.host ? proposed : {};
  const tls = await askTls(asker, host, same.tls);
  const port = await asker.text({
    flag: "port",
    message: "Port",
    initial: String((tls === same.tls ? same.port : undefined) ?? PORTS[tls]),
    check: checkPort,
  });
  return { host, tls, port: Number(port), user: await askUser(asker, proposed.user ?? address) };
}

/** The address as the configuration needs to say it: without what holds anyhow, unless it stands there. */
function toWritten({ host, tls, port, user }: ServerAnswer, current: Session["current"]): object {
  const isUsual = port === PORTS[tls] && current["port"] === undefined;
  const isImplicit = tls === "implicit" && current["tls"] === undefined;
  return { host, port: isUsual ? undefined : port, tls: isImplicit ? undefined : tls, user };
}

async function find(asker: Asker, address: string): Promise<FoundServer | undefined> {
  const parsed = parseMailAddress(address);
  if (!parsed) return undefined;
  const obstacle = findObstacle(parsed);
  if (obstacle) asker.person?.warn(obstacle);
  const looking = `Looking for the mail server of ${parsed.domain}`;
  const found = await asker.during(looking, () => findServer(parsed));
  if (found) asker.person?.note(`${found.host}, port ${found.port}: from ${found.origin}. ${found.hint ?? ""}`.trim());
  return found;
}

function toProposal(current: Session["current"]): Partial<ServerAnswer> {
  const tls = TLS.find((how) => how === (current["tls"] ?? "implicit")) ?? "implicit";
  return {
    host: textOf(current, "host"),
    tls,
    port: Number(textOf(current, "port") ?? PORTS[tls]),
    user: textOf(current, "user"),
  };
}

function askTls(asker: Asker, host: string, initial: Tls = "implicit"): Promise<Tls> {
  const choices = [
    { value: "implicit" as const, label: "TLS from the first byte" },
    { value: "starttls" as const, label: "STARTTLS" },
    { value: "none" as const, label: "None" },
  ];
  const possible = choices.filter(({ value }) => value !== "none" || isLoopback(host));
  return asker.choose<Tls>({ flag: "tls", message: "Encryption", choices: possible, initial });
}

function askUser(asker: Asker, initial: string): Promise<string> {
  return asker.text({ flag: "user", message: "Login name", initial });
}

function checkHost(answer: string): string | undefined {
  return /^[\w.:-]{1,253}$/.test(answer) ? undefined : "expected the name of a server, such as imap.example.com";
}

function checkPort(answer: string): string | undefined {
  const port = Number(answer);
  return /^\d+$/.test(answer) && port >= 1 && port <= 65_535 ? undefined : "a port is a whole number from 1 to 65535";
}

/** What is known of the providers that want OAuth. */
const KNOWN: Record<string, { tokenUrl: string; scope: string }> = {
  "imap.gmail.com": { tokenUrl: "https://oauth2.googleapis.com/token", scope: "https://mail.google.com/" },
  "outlook.office365.com": {
    tokenUrl: "https://login.microsoftonline.com/common/oauth2/v2.0/token",
    scope: "https://outlook.office.com/IMAP.AccessAsUser.All offline_access",
  },
};

/** Asks for access by a refresh token to a server that speaks IMAP. */
async function askOAuth(session: Session, host: string): Promise<MailboxAnswer> {
  const { asker, current, target } = session;
  const oauth = partOf(current, "oauth");
  const tokenUrl = await asker.text({
    flag: "oauthTokenUrl",
    message: "Address that access tokens come from",
    initial: textOf(oauth, "tokenUrl") ?? KNOWN[host]?.tokenUrl,
    check: checkUrl,
  });
  const client = await askClient(session);
  const token = await askSecret(
    asker,
    {
      flag: "oauthRefreshToken",
      title: "Refresh token",
      fileName: "mail-refresh-token",
      current: oauth["refreshToken"],
    },
    target,
  );
  const scope = await asker.text({
    flag: "oauthScope",
    message: "Scopes to ask for",
    initial: textOf(oauth, "scope") ?? KNOWN[host]?.scope,
    optional: true,
  });
  return {
    source: { oauth: { tokenUrl, ...client.source, refreshToken: token.reference, ...(scope && { scope }) } },
    unwritten: new Map([...client.unwritten, ...(token.unwritten ? [token.unwritten] : [])]),
  };
}

/** Asks for the OAuth client: its id, and its secret where it has one. */
export async function askClient({ asker, current, target }: Session): Promise<MailboxAnswer> {
  const oauth = partOf(current, "oauth");
  const clientId = await asker.text({
    flag: "oauthClientId",
    message: "Id of the OAuth client",
    initial: textOf(oauth, "clientId"),
  });
  const question = {
    flag: "oauthClientSecret",
    title: "Client secret",
    fileName: "mail-client-secret",
    current: oauth["clientSecret"],
  } as const;
  if (!(await hasSecret(asker, question.current))) return { source: { clientId }, unwritten: new Map() };
  const { reference, unwritten } = await askSecret(asker, question, target);
  return { source: { clientId, clientSecret: reference }, unwritten: new Map(unwritten && [unwritten]) };
}

async function hasSecret({ flags, person }: Asker, current: unknown): Promise<boolean> {
  const { oauthClientSecretEnv, oauthClientSecretFile, oauthClientSecretStdin } = flags;
  const isGiven = oauthClientSecretEnv ?? oauthClientSecretFile ?? oauthClientSecretStdin ?? current;
  if (isGiven !== undefined) return true;
  return person ? person.confirm("Does the client have a secret?") : false;
}

function checkUrl(answer: string): string | undefined {
  return /^https?:\/\/\S+$/.test(answer) ? undefined : "expected an address that begins with https://";
}
