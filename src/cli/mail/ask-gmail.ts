import path from "node:path";
import { resolveReferences } from "../../config/references.ts";
import { ConfigError } from "../../errors.ts";
import { createConsent } from "../../mail/gmail/consent.ts";
import { partOf } from "../../mail/setup/plan.ts";
import { askOAuthClient, askRefreshToken, REFRESH_TOKEN_FILE } from "./ask-imap.ts";
import { type Session, storeSecret, textOf } from "./prompter.ts";
import type { Terminal } from "./terminal.ts";

/** How long a person may take for the consent in the browser. */
const CONSENT_MS = 600_000;

/** Asks for a mailbox that is read through Gmail's own API. Settings of Pub/Sub stay as they are. */
export async function askGmail(session: Session, address: string): Promise<Record<string, unknown>> {
  const { prompter, current } = session;
  const user = await prompter.text({ flag: "user", message: "Mailbox", initial: textOf(current, "user") ?? address });
  const client = await askOAuthClient(session);
  const { terminal, flags } = prompter;
  const hasToken = flags.oauthRefreshTokenEnv !== undefined || flags.oauthRefreshTokenFile !== undefined;
  const refreshToken =
    terminal && !hasToken && (await wantsBrowser(terminal))
      ? await askConsent(session, client, { user, terminal })
      : await askRefreshToken(session);
  const { tokenUrl } = partOf(current, "oauth");
  const oauth = { ...(tokenUrl !== undefined && { tokenUrl }), ...client, refreshToken };
  return { ...current, kind: "gmail", user, oauth };
}

async function wantsBrowser(terminal: Terminal): Promise<boolean> {
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
  });
  terminal.show(`\nOpen this page in a browser on this machine:\n\n${consent.url}\n`);
  const refreshToken = await terminal.withSpinner("Waiting for the consent", () =>
    consent.wait(AbortSignal.timeout(CONSENT_MS)),
  );
  return storeSecret(session, REFRESH_TOKEN_FILE, refreshToken);
}
