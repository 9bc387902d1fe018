import { readConfigText } from "../../config/load.ts";
import type { Mailbox } from "../../config/schema/generated.ts";
import { ConfigError } from "../../errors.ts";
import { partOf, planSetup, type Target, type Wanted } from "../../mail/setup/plan.ts";
import type { FoundServer } from "../../mail/setup/providers.ts";
import { type Asker, MissingAnswer } from "./prompts.ts";

/** How long a login may take. */
const LOGIN_MS = 60_000;

/** What the questions about a mailbox have to go by. */
export interface Session {
  asker: Asker;
  target: Target;
  /** `hooks.mail.source` as it is written now, if it is the mailbox that is meant; else empty. */
  current: Record<string, unknown>;
}

/** What is known of a mailbox: its `hooks.mail.source` as it will be written, and its secrets' files. */
export type MailboxAnswer = Pick<Wanted, "source" | "unwritten">;

/** The mailbox that is written now. */
export function currentSource({ written }: Target): Record<string, unknown> {
  return partOf(written, "hooks", "mail", "source");
}

/** A text that is written now; undefined: there is none. */
export function textOf(source: Record<string, unknown>, key: string): string | undefined {
  const value = source[key];
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

/** The mailbox with its secrets, as it would be loaded. Throws a `ConfigError` where it cannot be opened as it is described. */
export async function resolveMailbox(target: Target, answer: MailboxAnswer): Promise<Mailbox> {
  const { file, after, unwritten } = planSetup(target, { ...answer, settings: {} });
  const { config, problems } = await readConfigText(file, after, { env: process.env, unwritten });
  const mine = problems.filter(({ key }) => key?.startsWith("hooks.mail"));
  if (mine.length === 0 && config.hooks.mail.source) return config.hooks.mail.source;
  throw new ConfigError(mine.length > 0 ? mine : problems);
}

export function loginTimeout(): AbortSignal {
  return AbortSignal.timeout(LOGIN_MS);
}

/**
 * Whether the server that was found is the one. Whoever says something else by a flag is asked no more about the rest. Throws a
 * `MissingAnswer` where nobody can be asked, and the password should not go there unseen.
 */
export async function isTaken(
  { flags, person }: Asker,
  { host, isForeign }: Pick<FoundServer, "host" | "isForeign">,
): Promise<boolean> {
  if (isForeign && !person) {
    throw new MissingAnswer("--host", `DNS names ${host}, which is not of the address's domain`);
  }
  if (flags.tls !== undefined || flags.port !== undefined) return false;
  return person ? person.confirm(`Use ${host}?`) : true;
}
