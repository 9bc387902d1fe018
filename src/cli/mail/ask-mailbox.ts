import { partOf, type Target, type WantedMail } from "../../mail/setup/plan.ts";
import { findProvider, parseMailAddress } from "../../mail/setup/providers.ts";
import { askGmail } from "./ask-gmail.ts";
import { askImap } from "./ask-imap.ts";
import { type Prompter, type Session, textOf } from "./prompter.ts";

/** Asks everything about the mailbox. The current values of the same mailbox are the defaults. */
export async function askMailbox(prompter: Prompter, target: Target): Promise<Omit<WantedMail, "settings">> {
  const written = partOf(target.written, "hooks", "mail", "source");
  const address = await askAddress(prompter, textOf(written, "user"));
  const kind = await askKind(prompter, address, written);
  const isSame = written["kind"] === kind && (address === written["user"] || prompter.flags.user === written["user"]);
  const session: Session = { prompter, target, current: isSame ? written : {}, secretFiles: new Map() };
  const source = kind === "imap" ? await askImap(session, address) : await askGmail(session, address);
  return { source, secretFiles: session.secretFiles };
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

const SETTINGS = ["channel", "to", "model", "thinking", "instructions"] as const;
type Settings = Partial<Record<(typeof SETTINGS)[number], string>>;

/** Other keys of `hooks.mail`. Those without an answer stay as they are; without any flag a person is asked for instructions. */
export async function askSettings({ flags, terminal }: Prompter, target: Target): Promise<Settings> {
  const given: Settings = Object.fromEntries(SETTINGS.map((name) => [name, flags[name]]));
  if (!terminal || Object.values(given).some((value) => value !== undefined)) return given;
  const initial = textOf(partOf(target.written, "hooks", "mail"), "instructions");
  const message = "Your instructions for the agent (optional)";
  const instructions = await terminal.text({ message, initial, optional: true });
  return { instructions: instructions || undefined };
}
