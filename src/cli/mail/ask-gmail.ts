import path from "node:path";
import { resolveReferences } from "../../config/references.ts";
import { ConfigError } from "../../errors.ts";
import {
  createConsent,
  createOAuthClient,
  loadMailbox,
  loginSignal,
  partOf,
  preparePubsub,
} from "../../mail/setup/index.ts";
import { askOAuthClient, askRefreshToken, REFRESH_TOKEN_FILE } from "./ask-imap.ts";
import { type Prompter, type Session, storeSecret, textOf } from "./prompter.ts";
import type { Terminal } from "./terminal.ts";

/** How long a person may take for the consent in the browser. */
const CONSENT_MS = 600_000;

/** Asks for a mailbox that is read through Gmail's own API. */
export async function askGmail(session: Session, address: string): Promise<Record<string, unknown>> {
  const { prompter, current } = session;
  const user = await prompter.text({ flag: "user", message: "Mailbox", initial: textOf(current, "user") ?? address });
  const client = await askOAuthClient(session);
  const { terminal } = prompter;
  const refreshToken =
    terminal && (await wantsBrowser(prompter, terminal))
      ? await askConsent(session, client, { user, terminal })
      : await askRefreshToken(session);
  const { tokenUrl } = partOf(current, "oauth");
  const { apiUrl, pubsubUrl } = current;
  const source = {
    kind: "gmail",
    user,
    oauth: { ...(tokenUrl !== undefined && { tokenUrl }), ...client, refreshToken },
    ...(await askNotifications(session)),
    apiUrl,
    pubsubUrl,
  };
  await prepareTopic(session, source);
  return source;
}

async function wantsBrowser({ flags }: Prompter, terminal: Terminal): Promise<boolean> {
  if (flags.oauthRefreshTokenEnv !== undefined || flags.oauthRefreshTokenFile !== undefined) return false;
  const choices = [
    { value: "browser" as const, label: "Consent in the browser now" },
    { value: "given" as const, label: "I have a refresh token" },
  ];
  return (await terminal.choose({ message: "How is access granted?", choices })) === "browser";
}

async function askConsent(
  session: Session,
  client: Record<string, unknown>,
  { user, terminal }: { user: string; terminal: Terminal },
): Promise<string> {
  const { current, target, secretFiles } = session;
  const references = { env: target.env, baseDir: path.dirname(target.file), unwritten: secretFiles };
  const { value, problems } = resolveReferences(client, references);
  if (problems.length > 0) throw new ConfigError(problems.map(({ message }) => ({ message })));
  const resolved = partOf({ value }, "value");
  const consent = await createConsent({
    clientId: textOf(resolved, "clientId") ?? "",
    clientSecret: textOf(resolved, "clientSecret"),
    user,
    tokenUrl: textOf(partOf(current, "oauth"), "tokenUrl"),
    apiUrl: textOf(current, "apiUrl"),
  });
  terminal.show(`\nOpen this page in a browser on this machine:\n\n${consent.url}\n`);
  const { refreshToken } = await terminal.withSpinner("Waiting for the consent", () =>
    consent.wait(AbortSignal.timeout(CONSENT_MS)),
  );
  return storeSecret(session, REFRESH_TOKEN_FILE, refreshToken);
}

type Notification = "poll" | "pull" | "push";

/** Asks how new mail is noticed. Returns these keys of `hooks.mail.source`. */
async function askNotifications({ prompter, current }: Session): Promise<Record<string, unknown>> {
  const kind = await prompter.choose<Notification>({
    flag: "news",
    message: "How is new mail noticed?",
    choices: [
      { value: "poll", label: "Ask Gmail once a minute", hint: "needs nothing else" },
      { value: "pull", label: "At once, pulled from Pub/Sub", hint: "needs a Google Cloud project" },
      { value: "push", label: "At once, pushed by Pub/Sub", hint: "needs a Google Cloud project and a public URL" },
    ],
    initial: currentNotification(prompter, current),
  });
  if (kind === "poll") return {};
  const topic = await askName(prompter, "topic", textOf(current, "topic"));
  if (kind === "pull") {
    return { topic, subscription: await askName(prompter, "subscription", textOf(current, "subscription")) };
  }
  const push = partOf(current, "push");
  const audience = await prompter.text({
    flag: "pushAudience",
    message: "Audience of the push subscription",
    initial: textOf(push, "audience"),
  });
  const serviceAccount = await prompter.text({
    flag: "pushServiceAccount",
    message: "Address of the service account that signs",
    initial: textOf(push, "serviceAccount"),
  });
  return { topic, push: { audience, serviceAccount } };
}

/** A flag that names a subscription implies `pull`, one for an audience `push`. */
function currentNotification({ flags }: Prompter, current: Record<string, unknown>): Notification {
  if (flags.subscription !== undefined) return "pull";
  if (flags.pushAudience !== undefined) return "push";
  if (current["subscription"] !== undefined) return "pull";
  return current["push"] === undefined ? "poll" : "push";
}

function askName({ text }: Prompter, flag: "topic" | "subscription", initial: string | undefined): Promise<string> {
  const form = `projects/<project>/${flag}s/<name>`;
  return text({
    flag,
    message: `Pub/Sub ${flag}, as ${form}`,
    initial,
    check: (answer) =>
      new RegExp(`^projects/[^/\\s]+/${flag}s/[^/\\s]+$`).test(answer) ? undefined : `expected ${form}`,
  });
}

/** Creates topic and subscription, if that is wanted. */
async function prepareTopic(
  { prompter, target, secretFiles }: Session,
  source: Record<string, unknown>,
): Promise<void> {
  const { flags, terminal } = prompter;
  const { topic, subscription } = source;
  if (typeof topic !== "string" || typeof subscription !== "string" || flags.dryRun) return;
  const question = "Create the topic and the subscription if they do not exist?";
  if (!(flags.preparePubsub ?? (await terminal?.confirm(question)))) return;
  const { oauth, pubsubUrl } = await loadMailbox(target, { source, secretFiles });
  const auth = await createOAuthClient({ ...oauth });
  await prompter.withSpinner("Preparing Pub/Sub", () =>
    preparePubsub({ auth, pubsubUrl, topic, subscription, signal: loginSignal() }),
  );
}
