import path from "node:path";
import { isReference, planSecret, toFileReference, toVariableReference } from "../../service/authoring/plan.ts";
import { resolveReferences } from "../../core/config/references.ts";
import { ConfigError } from "../../core/errors.ts";
import { toObject } from "../../core/shared/json.ts";
import { UsageError } from "../command.ts";
import { readSecret } from "../context.ts";
import { type Choice, MissingAnswer, type Terminal } from "../setup/terminal.ts";
import { type SecretFlag, type Session, type SetupFlags, textOf, toFlag } from "./prompter.ts";

/** The ends of the flags for one secret. */
const SECRET_ENDS = ["Env", "File", "Stdin"] as const;

interface SecretQuestion {
  flag: SecretFlag;
  /** `Password` */
  title: string;
  /** The file in the state folder for a secret that is typed or piped. */
  fileName: string;
  /** The value in the configuration now. */
  current: unknown;
}

/** Asks where a secret is, and returns a reference to it. A literal secret moves into a file. */
export async function askSecret(session: Session, question: SecretQuestion): Promise<string> {
  const { flag, title, current } = question;
  const { terminal } = session.prompter;
  const given = await readSecretFlags(session, question);
  if (given !== undefined) return given;
  if (terminal) return askSecretPlace(session, terminal, question);
  if (isReference(current)) return current;
  if (typeof current === "string") return storeSecret(session, question.fileName, current);
  const flags = SECRET_ENDS.map((end) => toFlag(`${flag}${end}`));
  throw new MissingAnswer(flags.join(", or "), `where the ${title.toLowerCase()} is`);
}

/** Plans a file of the state folder for a secret, and returns the reference to it. */
function storeSecret({ target, suffix, secretFiles }: Session, fileName: string, secret: string): string {
  return planSecret(target, { name: `${fileName}${suffix}`, secret }, secretFiles);
}

async function readSecretFlags(
  session: Session,
  { flag, title, fileName }: SecretQuestion,
): Promise<string | undefined> {
  const { flags, io } = session.prompter;
  const name = flags[`${flag}Env`];
  const file = flags[`${flag}File`];
  if (name !== undefined) return toVariableReference(name);
  if (file !== undefined) return referToFile(session, file);
  if (!flags[`${flag}Stdin`]) return undefined;
  const piped = await readSecret("-", io);
  if (piped === "") throw new UsageError(`${title}: standard input is empty`);
  return storeSecret(session, fileName, piped);
}

/** `file`: as the person wrote it, relative to the current folder. */
function referToFile({ prompter, target }: Session, file: string): string {
  return toFileReference(path.resolve(prompter.io.cwd, file), path.dirname(target.file));
}

async function askSecretPlace(
  session: Session,
  terminal: Terminal,
  { flag, title, fileName, current }: SecretQuestion,
): Promise<string> {
  const { prompter } = session;
  const choices: Choice<"text" | "env" | "file" | "current">[] = [
    { value: "text", label: "Type it here", hint: "stored in a file that only your user can read" },
    { value: "env", label: "In an environment variable" },
    { value: "file", label: "In a file" },
  ];
  if (isReference(current)) choices.unshift({ value: "current", label: "Where it is now", hint: current });
  const kind = await terminal.choose({ message: `${title}: where is it?`, choices });
  if (kind === "current") return String(current);
  if (kind === "text") return storeSecret(session, fileName, await terminal.secret(`${title} (hidden)`));
  if (kind === "env") {
    return toVariableReference(await prompter.text({ flag: `${flag}Env`, message: "Name of the variable" }));
  }
  return referToFile(session, await prompter.text({ flag: `${flag}File`, message: "Path of the file" }));
}

/** The client in its written form, with references instead of secrets. */
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
  const isKnown = isGiven(prompter.flags, "oauthClientSecret") || oauth["clientSecret"] !== undefined;
  if (!isKnown && !(await prompter.terminal?.confirm("Does the client have a secret?"))) return { clientId };
  const question = { title: "Client secret", fileName: "mail-client-secret", current: oauth["clientSecret"] };
  return { clientId, clientSecret: await askSecret(session, { flag: "oauthClientSecret", ...question }) };
}

/** Begins a consent in the browser. */
export type GetConsent = (client: { clientId: string; clientSecret?: string }) => Promise<{
  text: string;
  wait(signal: AbortSignal): Promise<string>;
}>;

/** How long a person may take for the consent in the browser. */
const CONSENT_MS = 900_000;

/** Asks where the refresh token is, or gets one by a consent if somebody can give it. */
export async function askRefreshToken(
  session: Session,
  client: WrittenClient,
  getConsent: GetConsent | undefined,
): Promise<string> {
  const { terminal, flags } = session.prompter;
  const fileName = "mail-refresh-token";
  const choices = [
    { value: "browser" as const, label: "Consent in the browser now" },
    { value: "given" as const, label: "I have a refresh token" },
  ];
  const isOffered = terminal && getConsent && !isGiven(flags, "oauthRefreshToken");
  if (!isOffered || (await terminal.choose({ message: "How is access granted?", choices })) === "given") {
    const current = toObject(session.current["oauth"])["refreshToken"];
    return askSecret(session, { flag: "oauthRefreshToken", title: "Refresh token", fileName, current });
  }
  const { text, wait } = await getConsent(resolveClient(session, client));
  terminal.show(`\n${text}\n`);
  const token = await terminal.withSpinner("Waiting for the consent", () => wait(AbortSignal.timeout(CONSENT_MS)));
  return storeSecret(session, fileName, token);
}

function isGiven(flags: SetupFlags, flag: SecretFlag): boolean {
  return SECRET_ENDS.some((end) => flags[`${flag}${end}`] !== undefined);
}

function resolveClient({ target, secretFiles }: Session, client: WrittenClient): Parameters<GetConsent>[0] {
  const references = { env: target.env, baseDir: path.dirname(target.file), unwritten: secretFiles };
  const { value, problems } = resolveReferences(client, references);
  if (problems.length > 0) throw new ConfigError(problems.map(({ message }) => ({ message })));
  const resolved = toObject(value);
  const clientSecret = textOf(resolved, "clientSecret");
  return { clientId: textOf(resolved, "clientId") ?? "", ...(clientSecret && { clientSecret }) };
}
