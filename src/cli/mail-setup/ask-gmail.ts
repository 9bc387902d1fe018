import path from "node:path";
import { resolveReferences } from "../../config/references.ts";
import { ConfigError } from "../../errors.ts";
import { createConsent } from "../../mail/gmail/consent.ts";
import { createOAuthClient } from "../../mail/gmail/oauth-client.ts";
import { preparePubsub } from "../../mail/gmail/prepare-pubsub.ts";
import { nameSecret } from "../../mail/setup/secret-place.ts";
import { partOf } from "../../mail/setup/target.ts";
import { askClient } from "./ask-oauth.ts";
import { askNews } from "./ask-news.ts";
import { askSecret } from "./ask-secret.ts";
import type { Person } from "./asker.ts";
import { loginTimeout, type MailboxAnswer, resolveMailbox, type Session, textOf } from "./session.ts";

/** How long a person has for the consent in the browser. */
const CONSENT_MS = 600_000;

/** Asks for a mailbox by Gmail's own API. */
export async function askGmail(session: Session, address: string): Promise<MailboxAnswer> {
  const { asker, current } = session;
  const user = await asker.text({
    flag: "user",
    message: "Mailbox",
    initial: textOf(current, "user") ?? address,
  });
  const client = await askClient(session);
  const token = await askToken(session, client, user);
  const { tokenUrl } = partOf(current, "oauth");
  const { apiUrl, pubsubUrl } = current;
  const answer = {
    source: {
      kind: "gmail",
      user,
      oauth: { ...(tokenUrl !== undefined && { tokenUrl }), ...client.source, ...token.source },
      ...(await askNews(session)),
      apiUrl,
      pubsubUrl,
    },
    unwritten: new Map([...client.unwritten, ...token.unwritten]),
  };
  await prepare(session, answer);
  return answer;
}

const FILE_NAME = "mail-refresh-token";

async function askToken(session: Session, client: MailboxAnswer, user: string): Promise<MailboxAnswer> {
  const { asker, current, target } = session;
  const { person } = asker;
  if (person && (await wantsBrowser(session, person))) {
    const text = await consent(session, client, { user, person });
    const ownFile = path.join(target.stateDir, FILE_NAME);
    return toAnswer(nameSecret({ kind: "text", text }, { baseDir: path.dirname(target.file), ownFile }));
  }
  const { refreshToken } = partOf(current, "oauth");
  const question = {
    flag: "oauthRefreshToken",
    title: "Refresh token",
    fileName: FILE_NAME,
    current: refreshToken,
  } as const;
  return toAnswer(await askSecret(asker, question, target));
}

function toAnswer({ reference, unwritten }: ReturnType<typeof nameSecret>): MailboxAnswer {
  return { source: { refreshToken: reference }, unwritten: new Map(unwritten && [unwritten]) };
}

async function wantsBrowser({ asker }: Session, person: Person): Promise<boolean> {
  const { oauthRefreshTokenEnv, oauthRefreshTokenFile } = asker.flags;
  if (oauthRefreshTokenEnv !== undefined || oauthRefreshTokenFile !== undefined) return false;
  const choices = [
    { value: "browser" as const, label: "Consent in the browser now" },
    { value: "given" as const, label: "I have a refresh token" },
  ];
  return (await person.choose({ message: "How is access given?", choices })) === "browser";
}

async function consent(
  { current, target, asker }: Session,
  client: MailboxAnswer,
  { user, person }: { user: string; person: Person },
): Promise<string> {
  const { clientId, clientSecret } = resolveClient(target.file, client);
  const tokenUrl = textOf(partOf(current, "oauth"), "tokenUrl");
  const asked = await createConsent({
    clientId,
    clientSecret,
    user,
    tokenUrl,
    apiUrl: textOf(current, "apiUrl"),
  });
  person.show(`\nOpen this page in a browser on this machine:\n\n${asked.url}\n`);
  const waiting = "Waiting for the consent";
  const { refreshToken } = await asker.during(waiting, () => asked.wait(AbortSignal.timeout(CONSENT_MS)));
  return refreshToken;
}

function resolveClient(
  file: string,
  { source, unwritten }: MailboxAnswer,
): { clientId: string; clientSecret?: string } {
  const { value, problems } = resolveReferences(source, {
    env: process.env,
    baseDir: path.dirname(file),
    unwritten,
  });
  if (problems.length > 0) throw new ConfigError(problems.map(({ message }) => ({ message })));
  const { clientId, clientSecret } = partOf({ value }, "value");
  return { clientId: String(clientId), ...(typeof clientSecret === "string" && { clientSecret }) };
}

/** Makes topic and subscription at Google, where that is wanted. */
async function prepare({ asker, target }: Session, answer: MailboxAnswer): Promise<void> {
  const { flags, person } = asker;
  const { topic, subscription } = answer.source;
  if (typeof topic !== "string" || typeof subscription !== "string" || flags.dryRun) return;
  const isWanted =
    flags.preparePubsub ??
    (await person?.confirm("Make topic and subscription, where they are not there yet?"));
  if (!isWanted) return;
  const { oauth, pubsubUrl } = await resolveMailbox(target, answer);
  const auth = await createOAuthClient({ ...oauth });
  await asker.during("Preparing Pub/Sub", () =>
    preparePubsub({ auth, pubsubUrl, topic, subscription, signal: loginTimeout() }),
  );
}
