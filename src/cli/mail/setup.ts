import { stripVTControlCharacters } from "node:util";
import { readConfigText } from "../../config/load.ts";
import { ConfigError, MailError, messageOf, toSentence } from "../../errors.ts";
import {
  hideSecrets,
  isDone,
  loginSignal,
  planSetup,
  readTarget,
  type SetupPlan,
  type Target,
  writeSetup,
} from "../../mail/setup/plan.ts";
import { findHint } from "../../mail/setup/providers.ts";
import type { MailSource } from "../../mail/source.ts";
import { buildProgram, type Program } from "../../program/build.ts";
import { toKeyPath } from "../../shared/json.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { createTelemetry } from "../../telemetry/telemetry.ts";
import { createSandbox } from "../../transforms/sandbox/sandbox.ts";
import { describeError, locateNewConfig } from "../context.ts";
import { formatDiff } from "../format.ts";
import { type CliIo, print, printError } from "../io.ts";
import { askMailbox, askSettings } from "./ask-mailbox.ts";
import type { SetupFlags } from "./flags.ts";
import { createPrompter, MissingAnswer, type Prompter, textOf } from "./prompter.ts";
import { Cancelled, createTerminal } from "./terminal.ts";

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
  const isAttended = io.stdin.isTTY && io.stdout.isTTY && !flags.json;
  try {
    const report = await setUp(createPrompter(flags, io, isAttended ? createTerminal(io) : undefined));
    if (flags.json) print(io, JSON.stringify(report));
    else printReport(report, io);
  } catch (error) {
    // Exit code 2: an answer is missing.
    io.exitCode = error instanceof MissingAnswer ? 2 : 1;
    const { code, sentence } = describe(error);
    if (flags.json) print(io, JSON.stringify({ ok: false, error: sentence, code }));
    else printError(io, toPrintable(sentence), "Nothing was written.");
  }
}

async function setUp(prompter: Prompter): Promise<SetupReport> {
  const { flags, io } = prompter;
  const target = readTarget(locateNewConfig(flags.config, io), io.env);
  const answer = await askMailbox(prompter, target);
  const plan = planSetup(target, { ...answer, settings: await askSettings(prompter, answer.mailbox) });
  const program = await loadPlan(plan, target, flags.check);
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
  await confirmWrite(prompter, plan.file);
  writeSetup(plan);
  return { ...report, changed: true, written: true };
}

/**
 * Builds what `serve` would serve after the change. Throws a `ConfigError` with all problems. Without `strict`, variables that
 * are not set here count as set, for a service that runs elsewhere.
 */
async function loadPlan({ file, after, secretFiles }: SetupPlan, target: Target, strict: boolean): Promise<Program> {
  const names = [...after.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name = ""]) => name);
  // Long enough for a token.
  const placeholders = Object.fromEntries(names.map((name) => [name, `not-set-in-this-environment-${name}`]));
  const env = strict ? target.env : { ...placeholders, ...target.env };
  const runner = createSandbox({ telemetry: createTelemetry("error"), children: 1 });
  try {
    const load = () => readConfigText(file, after, { env, unwritten: secretFiles });
    return await buildProgram({ generation: 1, load, runner });
  } finally {
    await runner.close();
  }
}

async function testLogin(prompter: Prompter, source: MailSource, host = ""): Promise<void> {
  try {
    await prompter.withSpinner("Testing the login", () => source.check(loginSignal()));
  } catch (error) {
    const hint = error instanceof MailError && error.kind === "login" ? findHint(host) : undefined;
    throw hint ? new MailError("login", `${messageOf(error)} ${hint}`, { cause: error }) : error;
  }
}

async function confirmWrite({ flags, terminal }: Prompter, file: string): Promise<void> {
  if (flags.yes) return;
  if (!terminal) throw new MissingAnswer("--yes", `cannot ask whether to write ${file} (--dry-run shows the change)`);
  if (!(await terminal.confirm(`Write ${file}?`))) throw new Cancelled();
}

const NO_CHANNEL = "No channel is configured, so the agent's replies are not delivered (see docs/guide/channels.md).";

/** What the person should know although the plan works. */
async function findWarnings(
  { file, after, secretFiles }: SetupPlan,
  { env }: Target,
  { config, warnings }: Program,
): Promise<string[]> {
  const ofMail = warnings.filter(({ key }) => key?.startsWith("hooks.mail"));
  // With --no-check there may be variables that are not set here.
  const { problems } = await readConfigText(file, after, { env, unwritten: secretFiles });
  const channels = Object.keys(config.channels).length;
  return [...[...ofMail, ...problems].map(toSentence), ...(channels > 0 ? [] : [NO_CHANNEL])];
}

/** The change for a terminal, with secrets hidden. */
function showChange({ file, before = "", after }: SetupPlan): string {
  try {
    const [old, changed] = [before, after].map((text) => toPrintableLines(hideSecrets(file, text)));
    return formatDiff(old ?? [], changed ?? [], { expected: "before", given: "after" }).join("\n");
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return "(The change is not shown: a secret in this file cannot be hidden.)";
  }
}

function toPrintableLines(text: string): string[] {
  return text === "" ? [] : toPrintable(text.trimEnd().replaceAll("\r\n", "\n")).split("\n");
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

const MAIL_CODES: Record<MailError["kind"], string> = {
  login: "login_refused",
  network: "network",
  tls: "tls_failed",
  gone: "mailbox_gone",
};

function describe(error: unknown): { code: string; sentence: string } {
  if (error instanceof MissingAnswer) return { code: "missing_answer", sentence: error.message };
  if (error instanceof Cancelled) return { code: "cancelled", sentence: "Cancelled." };
  if (error instanceof MailError) return { code: MAIL_CODES[error.kind], sentence: error.message };
  if (error instanceof ConfigError) return { code: "config", sentence: describeError(error) };
  return { code: "fault", sentence: messageOf(error) };
}
