import path from "node:path";
import { resolveReferences } from "../../config/references.ts";
import { ConfigError } from "../../errors.ts";
import { askSecret, type Session, storeSecret, textOf } from "./prompter.ts";
import { toObject } from "../../shared/json.ts";

/** As it will be written, with references instead of secrets. */
type WrittenClient = Record<string, unknown>;

/** Asks for the id of the OAuth client, and for its secret if it has one. */
export async function askOAuthClient(session: Session): Promise<WrittenClient> {
  const { prompter, current } = session;
  const oauth = toObject(current["oauth"]);
  const clientId = await prompter.text({
    flag: "oauthClientId",
    message: "Id of the OAuth client",
    initial: textOf(oauth, "clientId"),
  });
  const { oauthClientSecretEnv, oauthClientSecretFile, oauthClientSecretStdin } = prompter.flags;
  const given = oauthClientSecretEnv ?? oauthClientSecretFile ?? oauthClientSecretStdin ?? oauth["clientSecret"];
  if (given === undefined && !(await prompter.terminal?.confirm("Does the client have a secret?"))) return { clientId };
  const question = { title: "Client secret", fileName: "mail-client-secret", current: oauth["clientSecret"] };
  return { clientId, clientSecret: await askSecret(session, { flag: "oauthClientSecret", ...question }) };
}

/** Begins a consent in the browser. */
export type GetConsent = (client: { clientId: string; clientSecret?: string }) => Promise<{
  /** What the person must do. */
  text: string;
  /** Resolves to a refresh token. */
  wait(signal: AbortSignal): Promise<string>;
}>;

/** How long a person may take for the consent in the browser. */
const CONSENT_MS = 900_000;
const FILE_NAME = "mail-refresh-token";

/** Asks where the refresh token is, or gets one by a consent if somebody can give it. */
export async function askRefreshToken(
  session: Session,
  client: WrittenClient,
  getConsent: GetConsent | undefined,
): Promise<string> {
  const { terminal, flags } = session.prompter;
  const { oauthRefreshTokenEnv, oauthRefreshTokenFile, oauthRefreshTokenStdin } = flags;
  const isGiven = Boolean(oauthRefreshTokenEnv ?? oauthRefreshTokenFile ?? oauthRefreshTokenStdin);
  const choices = [
    { value: "browser" as const, label: "Consent in the browser now" },
    { value: "given" as const, label: "I have a refresh token" },
  ];
  const isOffered = terminal && getConsent && !isGiven;
  if (!isOffered || (await terminal.choose({ message: "How is access granted?", choices })) === "given") {
    const current = toObject(session.current["oauth"])["refreshToken"];
    return askSecret(session, { flag: "oauthRefreshToken", title: "Refresh token", fileName: FILE_NAME, current });
  }
  const { text, wait } = await getConsent(resolveClient(session, client));
  terminal.show(`\n${text}\n`);
  const token = await terminal.withSpinner("Waiting for the consent", () => wait(AbortSignal.timeout(CONSENT_MS)));
  return storeSecret(session, FILE_NAME, token);
}

function resolveClient(
  { target, secretFiles }: Session,
  client: WrittenClient,
): { clientId: string; clientSecret?: string } {
  const references = { env: target.env, baseDir: path.dirname(target.file), unwritten: secretFiles };
  const { value, problems } = resolveReferences(client, references);
  if (problems.length > 0) throw new ConfigError(problems.map(({ message }) => ({ message })));
  const resolved = toObject(value);
  const clientSecret = textOf(resolved, "clientSecret");
  return { clientId: textOf(resolved, "clientId") ?? "", ...(clientSecret && { clientSecret }) };
}
