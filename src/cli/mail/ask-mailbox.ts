import { type Target } from "../../config/edit/plan.ts";
import { MAIL_DEFAULTS } from "../../config/types.ts";
import { createConsent } from "../../mail/gmail/consent.ts";
import { addMailbox, findMailboxes, type WantedMail, type WrittenMailbox } from "../../mail/setup/plan.ts";
import { findProvider, parseMailAddress } from "../../mail/setup/providers.ts";
import { askImap } from "./ask-imap.ts";
import { askOAuthClient, askRefreshToken } from "./ask-secret.ts";
import { type Prompter, type Session, textOf } from "./prompter.ts";
import { toObject } from "../../shared/json.ts";

/**
 * Asks everything about a mailbox. The current values of the same mailbox are the defaults. One that is not configured yet is added
 * to the others.
 */
export async function askMailbox(prompter: Prompter, target: Target): Promise<Omit<WantedMail, "settings">> {
  const { flags } = prompter;
  const mailboxes = findMailboxes(target);
  const named = mailboxes.find(({ written }) => flags.name !== undefined && nameOf(written) === flags.name);
  const [only, ...others] = mailboxes;
  const proposed = named ?? (flags.name === undefined && others.length === 0 ? only : undefined);
  const address = await askAddress(prompter, textOf(sourceOf(proposed), "user"));
  const kind = await askKind(prompter, address, sourceOf(proposed));
  const isSame = (mailbox: WrittenMailbox): boolean => {
    const { kind: known, user } = sourceOf(mailbox);
    return known === kind && (address === user || flags.user === user);
  };
  const mailbox = named ?? (flags.name === undefined ? mailboxes.find(isSame) : undefined) ?? addMailbox(target);
  const isAdded = mailboxes.length > 0 && !mailboxes.includes(mailbox);
  const name = flags.name ?? (isAdded ? address : undefined);
  const session: Session = {
    prompter,
    target,
    mailbox,
    name,
    current: isSame(mailbox) ? sourceOf(mailbox) : {},
    suffix: isAdded ? `-${name}` : "",
    secretFiles: new Map(),
  };
  const source = kind === "imap" ? await askImap(session, address) : await askGmail(session, address);
  return { mailbox, name, source, secretFiles: session.secretFiles };
}

function sourceOf(mailbox: WrittenMailbox | undefined): Record<string, unknown> {
  return toObject(mailbox?.written["source"]);
}

/** As the service names it. */
function nameOf(written: Record<string, unknown>): unknown {
  return written["name"] ?? toObject(written["source"])["kind"];
}

function askAddress({ flags, text }: Prompter, current: string | undefined): Promise<string> {
  const { host, user } = flags;
  return text({
    flag: "address",
    message: "Mail address",
    // With a host nothing is looked up, so a login name is enough.
    initial: (host === undefined ? undefined : user) ?? current,
    check: (answer) =>
      host !== undefined || current === answer || parseMailAddress(answer)
        ? undefined
        : "expected an address such as ann@example.com",
  });
}

async function askKind(
  { flags, choose }: Prompter,
  address: string,
  written: Record<string, unknown>,
): Promise<"imap" | "gmail"> {
  const parsed = parseMailAddress(address);
  const isGmail = written["kind"] === "gmail";
  if (flags.kind === undefined && !isGmail && !(parsed && findProvider(parsed)?.gmail)) return "imap";
  return choose<"imap" | "gmail">({
    flag: "kind",
    message: "How should the mailbox be read?",
    choices: [
      { value: "imap", label: "IMAP", hint: "with an app password" },
      { value: "gmail", label: "Gmail API", hint: "with your own OAuth client" },
    ],
    initial: isGmail ? "gmail" : "imap",
  });
}

/** Asks for a mailbox that is read through Gmail's own API. Settings of Pub/Sub stay as they are. */
async function askGmail(session: Session, address: string): Promise<Record<string, unknown>> {
  const { prompter, current } = session;
  const user = await prompter.text({ flag: "user", message: "Mailbox", initial: textOf(current, "user") ?? address });
  const client = await askOAuthClient(session);
  const tokenUrl = textOf(toObject(current["oauth"]), "tokenUrl");
  const refreshToken = await askRefreshToken(session, client, async (known) => {
    const { url, wait } = await createConsent({ ...known, user, tokenUrl });
    return { text: `Open this page in a browser on this machine:\n\n${url}`, wait };
  });
  const oauth = { ...(tokenUrl !== undefined && { tokenUrl }), ...client, refreshToken };
  return { ...current, kind: "gmail", user, oauth };
}

type Settings = Partial<Record<(typeof MAIL_DEFAULTS)[number], string>>;

/** Other keys of the mailbox. Those without an answer stay as they are; without any flag a person is asked for instructions. */
export async function askSettings({ flags, terminal }: Prompter, { written }: WrittenMailbox): Promise<Settings> {
  const given: Settings = Object.fromEntries(MAIL_DEFAULTS.map((name) => [name, flags[name]]));
  if (!terminal || Object.values(given).some((value) => value !== undefined)) return given;
  const initial = textOf(written, "instructions");
  const message = "Your instructions for the agent (optional)";
  const instructions = await terminal.text({ message, initial, optional: true });
  return { instructions: instructions || undefined };
}
