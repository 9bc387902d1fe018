import { type ConfigPlan, isDone, readTarget, type Target } from "../../config/edit/plan.ts";
import { readConfigText } from "../../config/load.ts";
import { MailError, messageOf, toSentence } from "../../errors.ts";
import { loginSignal, planSetup } from "../../mail/setup/plan.ts";
import { findHint } from "../../mail/setup/providers.ts";
import type { MailSource } from "../../mail/source.ts";
import type { Program } from "../../program/build.ts";
import { toKeyPath } from "../../shared/json.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { applyPlan, loadPlan, openTerminal, plainChange, printWritten } from "../change.ts";
import { locateNewConfig } from "../context.ts";
import { type CliIo, print, printJsonLine, printWarnings } from "../io.ts";
import { askMailbox, askSettings } from "./ask-mailbox.ts";
import type { SetupFlags } from "./flags.ts";
import { createPrompter, type Prompter, textOf } from "./prompter.ts";

/** Finds a mailbox, tests its login, and writes it into the configuration. On a terminal it asks step by step. */
export async function setUpMail(flags: SetupFlags, io: CliIo): Promise<void> {
  const prompter = createPrompter(flags, io, openTerminal(flags, io));
  const target = readTarget(locateNewConfig(flags.config, io), io.env);
  const answer = await askMailbox(prompter, target);
  const plan = planSetup(target, { ...answer, settings: await askSettings(prompter, answer.mailbox) });
  const program = await loadPlan(plan, io, { strict: flags.check });
  const added = program.mailboxes.find(({ settings }) => settings.key === toKeyPath(answer.mailbox.at));
  if (!added) throw new Error("The plan has no mailbox.");
  const { settings, source } = added;
  if (flags.check) await testLogin(prompter, source, textOf(settings.source ?? {}, "host"));

  const warnings = await findWarnings(plan, target, program);
  const changed = !isDone(plan);
  const written = changed && (await applyPlan(plan, flags, io, prompter.terminal));
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
  "Next: start `webhooks serve`, which watches the mailbox. With hooks.mail.autoStart: false run `webhooks mail run`.";

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
  "channels.telegram, and try it with `webhooks channels test`.";

/** What the person should know although the plan works. */
async function findWarnings(
  { file, after, secretFiles }: ConfigPlan,
  { env }: Target,
  { config, warnings }: Program,
): Promise<string[]> {
  const ofMail = warnings.filter(({ key }) => key?.startsWith("hooks.mail"));
  // With --no-check there may be variables that are not set here.
  const { problems } = await readConfigText(file, after, { env, unwritten: secretFiles });
  const channels = Object.keys(config.channels).length;
  return [...[...ofMail, ...problems].map(toSentence), ...(channels > 0 ? [] : [NO_CHANNEL])];
}
