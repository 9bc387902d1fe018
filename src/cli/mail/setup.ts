import { type ConfigPlan, isDone } from "../../service/authoring/plan.ts";
import { readTarget, type Target, whereSet } from "../../service/authoring/target.ts";
import { MAIL_DEFAULTS } from "../../core/config/resolved-config.ts";
import { MailError, messageOf, toSentence } from "../../core/errors.ts";
import { createConsent } from "./consent.ts";
import {
  addMailbox,
  findMailboxes,
  loginSignal,
  planSetup,
  type WantedMail,
  type WrittenMailbox,
} from "./plan-mailbox.ts";
import { findHint, findProvider, parseMailAddress } from "./servers.ts";
import type { MailSource } from "../../core/ports/mail-source.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { toKeyPath, toObject } from "../../core/shared/json.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { locateNewConfig } from "../context.ts";
import { type CliIo, print, printJsonLine, printWarnings } from "../io.ts";
import { applyPlan, loadPlan, openTerminal, plainChange, printWritten, readPlan } from "../setup/change.ts";
import { askImap } from "./ask-imap.ts";
import { askOAuthClient, askRefreshToken } from "./ask-secret.ts";
import { createPrompter, type Prompter, type Session, type SetupFlags, textOf } from "./prompter.ts";

/** Finds a mailbox, tests its login, and writes it into the configuration. On a terminal it asks step by step. */
export async function setUpMail(flags: SetupFlags, io: CliIo): Promise<void> {
  const prompter = createPrompter(flags, io, openTerminal(flags, io));
  const target = whereSet(readTarget(locateNewConfig(flags.config, io), io.env), ["hooks", "mail"]);
  const answer = await askMailbox(prompter, target);
  const plan = planSetup(target, { ...answer, settings: await askSettings(prompter, answer.mailbox) });
  const runtime = await loadPlan(plan, io, { strict: flags.check });
  const added = runtime.mailboxes.find(({ settings }) => settings.key === toKeyPath(answer.mailbox.at));
  if (!added) throw new Error("The plan has no mailbox.");
  const { settings, source } = added;
  if (flags.check) await testLogin(prompter, source, textOf(settings.source ?? {}, "host"));

  const warnings = await findWarnings(plan, target, runtime);
  const changed = !isDone(plan);
  const written = changed && (await applyPlan(plan, flags, io));
  const { file, before, after, secretFiles } = plan;
  const { mailbox, folders } = source;
  if (flags.json) {
    const diff = before === after ? undefined : plainChange(plan);
    const result = { ok: true, file, changed, written, mailbox, folders, secretFiles: [...secretFiles.keys()] };
    return printJsonLine(io, { ...result, diff, warnings });
  }
  print(io, `Mailbox ${toPrintable(mailbox)}: ${folders.map(toPrintable).join(", ")}`);
  if (written) printWritten(plan, io);
  if (written) print(io, NEXT_STEP);
  else print(io, changed ? "Nothing was written." : `${file} is up to date: nothing was changed.`);
  printWarnings(io, warnings);
}

const NEXT_STEP =
  "Next: start `npx hookline serve`, which watches the mailbox. With hooks.mail.autoStart: false run `npx hookline mail run`.";

async function testLogin(prompter: Prompter, source: MailSource, host = ""): Promise<void> {
  try {
    await prompter.withSpinner("Testing the login", () => source.check(loginSignal()));
  } catch (error) {
    const hint = error instanceof MailError && error.kind === "login" ? findHint(host) : undefined;
    throw hint ? new MailError("login", `${messageOf(error)} ${hint}`, { cause: error }) : error;
  }
}

const NO_CHANNEL =
  "No channel is configured, so the agent's replies are not delivered. Add a block to channels, such as " +
  "channels.telegram, and try it with `npx hookline channels test`.";

/** Warnings for the person, although the plan works. */
async function findWarnings(plan: ConfigPlan, { env }: Target, { config, warnings }: Runtime): Promise<string[]> {
  const ofMail = warnings.filter(({ key }) => key?.startsWith("hooks.mail"));
  // With --no-check there may be variables that are not set here.
  const { problems } = await readPlan(plan, env);
  const channels = Object.keys(config.channels).length;
  return [...[...ofMail, ...problems].map(toSentence), ...(channels > 0 ? [] : [NO_CHANNEL])];
}

/**
 * Asks everything about a mailbox. The current values of the same mailbox are the defaults. One that is not configured yet is added
 * to the others.
 */
async function askMailbox(prompter: Prompter, target: Target): Promise<Omit<WantedMail, "settings">> {
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

/** The service's name for it. */
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

/** Other keys of the mailbox. Keys without an answer stay as they are; without any flag a person is asked for instructions. */
async function askSettings({ flags, terminal }: Prompter, { written }: WrittenMailbox): Promise<Settings> {
  const given: Settings = Object.fromEntries(MAIL_DEFAULTS.map((name) => [name, flags[name]]));
  if (!terminal || Object.values(given).some((value) => value !== undefined)) return given;
  const initial = textOf(written, "instructions");
  const message = "Your instructions for the agent (optional)";
  const instructions = await terminal.text({ message, initial, optional: true });
  return { instructions: instructions || undefined };
}
