import { partOf } from "../../mail/setup/target.ts";
import type { Asker } from "./asker.ts";
import { askSecret } from "./ask-secret.ts";
import { type MailboxAnswer, type Session, textOf } from "./session.ts";

/** What is known of the providers that want OAuth. */
const KNOWN: Record<string, { tokenUrl: string; scope: string }> = {
  "imap.gmail.com": { tokenUrl: "https://oauth2.googleapis.com/token", scope: "https://mail.google.com/" },
  "outlook.office365.com": {
    tokenUrl: "https://login.microsoftonline.com/common/oauth2/v2.0/token",
    scope: "https://outlook.office.com/IMAP.AccessAsUser.All offline_access",
  },
};

/** Asks for access by a refresh token to a server that speaks IMAP. */
export async function askOAuth(session: Session, host: string): Promise<MailboxAnswer> {
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
