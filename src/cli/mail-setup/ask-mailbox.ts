import { findProvider } from "../../mail/setup/providers.ts";
import { parseMailAddress } from "../../mail/setup/mail-address.ts";
import type { Target } from "../../mail/setup/target.ts";
import { askImap } from "./ask-imap.ts";
import type { Asker } from "./asker.ts";
import { currentSource, type MailboxAnswer, textOf } from "./session.ts";

/** Asks which mailbox it is, and all about it. What is written of the same one already holds unless something else is said. */
export async function askMailbox(asker: Asker, target: Target): Promise<MailboxAnswer> {
  const written = currentSource(target);
  const address = await askAddress(asker, textOf(written, "user"));
  const kind = await askKind(asker, address, written);
  const isSame =
    written["kind"] === kind && (address === written["user"] || asker.flags.user === written["user"]);
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
