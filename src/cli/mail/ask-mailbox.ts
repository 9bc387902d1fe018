import { partOf, type Target } from "../../mail/setup/plan.ts";
import { findProvider, parseMailAddress } from "../../mail/setup/providers.ts";
import { CHANNEL_NAMES } from "../../types.ts";
import { askImap } from "./ask-imap.ts";
import type { Asker, Choice, Person } from "./prompts.ts";
import { currentSource, type MailboxAnswer, textOf } from "./session.ts";

/** Asks which mailbox it is, and all about it. What is written of the same one already holds unless something else is said. */
export async function askMailbox(asker: Asker, target: Target): Promise<MailboxAnswer> {
  const written = currentSource(target);
  const address = await askAddress(asker, textOf(written, "user"));
  const kind = await askKind(asker, address, written);
  const isSame = written["kind"] === kind && (address === written["user"] || asker.flags.user === written["user"]);
  const session = { asker, target, current: isSame ? written : {} };
  if (kind === "imap") return askImap(session, address);
  // Google's libraries take their time to load.
  const { askGmail } = await import("./ask-gmail.ts");
  return askGmail(session, address);
}

/** A login name stands for the address where that is not asked for anything. */
function askAddress(asker: Asker, current: string | undefined): Promise<string> {
  const { host, user } = asker.flags;
  return asker.text({
    flag: "address",
    message: "Mail address",
    initial: (host === undefined ? undefined : user) ?? current,
    check: (answer) =>
      host !== undefined || current === answer || parseMailAddress(answer)
        ? undefined
        : "expected an address such as ann@example.com",
  });
}

function askKind(asker: Asker, address: string, written: Record<string, unknown>): Promise<"imap" | "gmail"> {
  const parsed = parseMailAddress(address);
  const current = (["imap", "gmail"] as const).find((kind) => kind === written["kind"]);
  const isGoogles = parsed !== undefined && findProvider(parsed)?.gmail;
  const isAsked = asker.flags.kind !== undefined || isGoogles || current === "gmail";
  if (!isAsked) return Promise.resolve("imap");
  return asker.choose<"imap" | "gmail">({
    flag: "kind",
    message: "How is the mailbox read?",
    choices: [
      { value: "imap", label: "Over IMAP", hint: "with an app password" },
      { value: "gmail", label: "By Gmail's own API", hint: "with an OAuth client of your own" },
    ],
    initial: current ?? "imap",
  });
}

const SETTINGS = ["channel", "to", "model", "thinking", "instructions"] as const;
type Settings = Partial<Record<(typeof SETTINGS)[number], string>>;

/** Asks what is to become of the mails, as further keys of `hooks.mail`. Without an answer they stay as they are. */
export async function askSettings({ flags, person }: Asker, target: Target): Promise<Settings> {
  const given = Object.fromEntries(SETTINGS.map((name) => [name, flags[name]]));
  if (!person || Object.values(given).some((value) => value !== undefined)) return given;
  const mail = partOf(target.written, "hooks", "mail");
  return {
    ...(await askRoute(person, mail, partOf(target.written, "channels"))),
    instructions: await askText(person, "Your own words to the agent, if any", textOf(mail, "instructions")),
  };
}

async function askRoute(
  person: Person,
  mail: Record<string, unknown>,
  channels: Record<string, unknown>,
): Promise<Settings> {
  const configured = CHANNEL_NAMES.filter((name) => channels[name] !== undefined);
  if (configured.length === 0) return {};
  const choices: Choice<string>[] = [
    { value: "last", label: "Where the last message went" },
    ...configured.map((name) => ({ value: name, label: name })),
  ];
  const initial = textOf(mail, "channel") ?? "last";
  const channel = await person.choose({ message: "Where do the agent's replies go?", choices, initial });
  if (channel === "last") return channel === initial ? {} : { channel };
  return { channel, to: await askText(person, "To whom there", textOf(mail, "to")) };
}

async function askText(person: Person, message: string, initial: string | undefined): Promise<string | undefined> {
  const answer = await person.text({ message, initial, optional: true });
  return answer === "" ? undefined : answer;
}
