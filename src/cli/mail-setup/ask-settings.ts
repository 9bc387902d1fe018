import { CHANNEL_NAMES } from "../../types.ts";
import { partOf, type Target } from "../../mail/setup/target.ts";
import type { Asker, Choice, Person } from "./asker.ts";
import { textOf } from "./session.ts";

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

async function askText(
  person: Person,
  message: string,
  initial: string | undefined,
): Promise<string | undefined> {
  const answer = await person.text({ message, initial, optional: true });
  return answer === "" ? undefined : answer;
}
