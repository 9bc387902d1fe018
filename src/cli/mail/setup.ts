import { stripVTControlCharacters } from "node:util";
import { type ConfigPlan, isDone, readTarget, type Target, writePlan } from "../../config/edit/plan.ts";
import { readConfigText } from "../../config/load.ts";
import { MailError, messageOf, toSentence } from "../../errors.ts";
import { loginSignal, planSetup } from "../../mail/setup/plan.ts";
import { findHint } from "../../mail/setup/providers.ts";
import type { MailSource } from "../../mail/source.ts";
import type { Program } from "../../program/build.ts";
import { toKeyPath } from "../../shared/json.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { confirmWrite, describeFailure, loadPlan, openTerminal, showChange } from "../change.ts";
import { locateNewConfig } from "../context.ts";
import { type CliIo, print, printError } from "../io.ts";
import { askMailbox, askSettings } from "./ask-mailbox.ts";
import type { SetupFlags } from "./flags.ts";
import { createPrompter, type Prompter, textOf } from "./prompter.ts";

/** The result, as `--json` prints it. */
interface SetupReport {
  ok: true;
  /** The configuration, absolute. */
  file: string;
  /** Whether anything differs from the present state. */
  changed: boolean;
  written: boolean;
  /** `imap://ann@mail.example.com` */
  mailbox: string;
  folders: readonly string[];
  /** Its files with secrets, absolute. */
  secretFiles: string[];
  /** The change to the configuration, with secrets hidden. */
  diff?: string;
  warnings: string[];
}

/** Finds a mailbox, tests its login, and writes it into the configuration. On a terminal it asks step by step. */
export async function setUpMail(flags: SetupFlags, io: CliIo): Promise<void> {
  try {
    const report = await setUp(createPrompter(flags, io, openTerminal(flags, io)));
    if (flags.json) print(io, JSON.stringify(report));
    else printReport(report, io);
  } catch (error) {
    describeFailure(error, flags, io);
  }
}

async function setUp(prompter: Prompter): Promise<SetupReport> {
  const { flags, io } = prompter;
  const target = readTarget(locateNewConfig(flags.config, io), io.env);
  const answer = await askMailbox(prompter, target);
  const plan = planSetup(target, { ...answer, settings: await askSettings(prompter, answer.mailbox) });
  const program = await loadPlan(plan, target.env, flags.check);
  const added = program.mailboxes.find(({ settings }) => settings.key === toKeyPath(answer.mailbox.at));
  if (!added) throw new Error("The plan has no mailbox.");
  const { settings, source } = added;
  if (flags.check) await testLogin(prompter, source, textOf(settings.source ?? {}, "host"));

  const change = plan.before === plan.after ? undefined : showChange(plan);
  const report: SetupReport = {
    ok: true,
    file: plan.file,
    changed: false,
    written: false,
    mailbox: source.mailbox,
    folders: source.folders,
    secretFiles: [...plan.secretFiles.keys()],
    diff: change && stripVTControlCharacters(change),
    warnings: await findWarnings(plan, target, program),
  };
  if (isDone(plan)) return report;
  if (!flags.json && change) print(io, change);
  if (flags.dryRun) return { ...report, changed: true };
  await confirmWrite(flags, prompter.terminal, plan.file);
  writePlan(plan);
  return { ...report, changed: true, written: true };
}

async function testLogin(prompter: Prompter, source: MailSource, host = ""): Promise<void> {
  try {
    await prompter.withSpinner("Testing the login", () => source.check(loginSignal()));
  } catch (error) {
    const hint = error instanceof MailError && error.kind === "login" ? findHint(host) : undefined;
    throw hint ? new MailError("login", `${messageOf(error)} ${hint}`, { cause: error }) : error;
  }
}

const NO_CHANNEL = "No channel is configured, so the agent's replies are not delivered (see docs/guide/channels.md).";

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

function printReport(report: SetupReport, io: CliIo): void {
  const { file, changed, written, mailbox, folders, secretFiles, warnings } = report;
  print(io, `Mailbox ${toPrintable(mailbox)}: ${folders.map(toPrintable).join(", ")}`);
  if (written) {
    const secrets = secretFiles.map((secret) => `  ${secret} (a secret, readable only by your user)`);
    print(io, "Written:", `  ${file}`, ...secrets, NEXT_STEP);
  } else {
    print(io, changed ? "Nothing was written." : `${file} is up to date: nothing was changed.`);
  }
  for (const warning of warnings) printError(io, `warning: ${toPrintable(warning)}`);
}

const NEXT_STEP =
  "Next: start `webhooks serve`, which watches the mailbox. With hooks.mail.autoStart: false run `webhooks mail run`.";
