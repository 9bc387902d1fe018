import { MailError } from "../../errors.ts";
import { listFolders } from "../../mail/imap/list-folders.ts";
import { findHint } from "../../mail/setup/providers.ts";
import { askOAuth } from "./ask-oauth.ts";
import { askSecret } from "./ask-secret.ts";
import { askServer, toWritten } from "./ask-server.ts";
import { loginTimeout, type MailboxAnswer, resolveMailbox, type Session } from "./session.ts";

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
async function requireAnotherTry(
  { asker: { person } }: Session,
  error: unknown,
  host: string,
): Promise<void> {
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
