import path from "node:path";
import { resolveReferences } from "../../config/references.ts";
import { ConfigError } from "../../errors.ts";
import { createOAuthClient } from "../../mail/gmail/api.ts";
import { createConsent } from "../../mail/gmail/consent.ts";
import { preparePubsub } from "../../mail/gmail/setup-pubsub.ts";
import { nameSecret, partOf } from "../../mail/setup/plan.ts";
import { askClient } from "./ask-imap.ts";
import { type Asker, askSecret, type Person } from "./prompts.ts";
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
    flags.preparePubsub ?? (await person?.confirm("Make topic and subscription, where they are not there yet?"));
  if (!isWanted) return;
  const { oauth, pubsubUrl } = await resolveMailbox(target, answer);
  const auth = await createOAuthClient({ ...oauth });
  await asker.during("Preparing Pub/Sub", () =>
    preparePubsub({ auth, pubsubUrl, topic, subscription, signal: loginTimeout() }),
  );
}

type News = "poll" | "pull" | "push";

/** Asks how it becomes known that mail has come to a Gmail mailbox. Gives these keys of `hooks.mail.source`. */
async function askNews({ asker, current }: Session): Promise<Record<string, unknown>> {
  const news = await asker.choose<News>({
    flag: "news",
    message: "How is new mail noticed?",
    choices: [
      { value: "poll", label: "Gmail is asked once a minute", hint: "nothing else is needed" },
      {
        value: "pull",
        label: "At once, pulled from Pub/Sub",
        hint: "a Google Cloud project, no public address",
      },
      {
        value: "push",
        label: "At once, pushed by Pub/Sub",
        hint: "a Google Cloud project and a public address",
      },
    ],
    initial: currentNews(asker, current),
  });
  if (news === "poll") return {};
  const topic = await askName(asker, "topic", textOf(current, "topic"));
  if (news === "pull")
    return { topic, subscription: await askName(asker, "subscription", textOf(current, "subscription")) };
  return { topic, push: await askPush(asker, current) };
}

/** Whoever names a subscription means that it is pulled. */
function currentNews({ flags }: Asker, current: Session["current"]): News {
  if (flags.subscription !== undefined) return "pull";
  if (flags.pushAudience !== undefined) return "push";
  if (current["subscription"] !== undefined) return "pull";
  return current["push"] === undefined ? "poll" : "push";
}

async function askPush(asker: Asker, current: Session["current"]): Promise<object> {
  const push = partOf(current, "push");
  const audience = await asker.text({
    flag: "pushAudience",
    message: "Audience of the push subscription",
    initial: textOf(push, "audience"),
  });
  const serviceAccount = await asker.text({
    flag: "pushServiceAccount",
    message: "Address of the service account that signs",
    initial: textOf(push, "serviceAccount"),
  });
  return { audience, serviceAccount };
}

function askName(asker: Asker, flag: "topic" | "subscription", initial: string | undefined): Promise<string> {
  const form = `projects/<project>/${flag}s/<name>`;
  return asker.text({
    flag,
    message: flag === "topic" ? `The topic that Gmail notifies, as ${form}` : `Its subscription, as ${form}`,
    initial,
    check: (answer) =>
      new RegExp(`^projects/[^/\\s]+/${flag}s/[^/\\s]+$`).test(answer) ? undefined : `expected ${form}`,
  });
}
