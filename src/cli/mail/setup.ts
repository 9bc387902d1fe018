import { readConfigText } from "../../config/load.ts";
import { ConfigError, MailError, messageOf, toSentence } from "../../errors.ts";
import { createMailSource } from "../../mail/index.ts";
import { isDone, planSetup, readTarget, type SetupPlan, writeSetup } from "../../mail/setup/plan.ts";
import { findHint } from "../../mail/setup/providers.ts";
import type { MailSource } from "../../mail/source.ts";
import { buildProgram, type Program } from "../../program/build.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { createTelemetry } from "../../telemetry/telemetry.ts";
import { createSandbox } from "../../transforms/sandbox/sandbox.ts";
import { describeError, locateNewConfig } from "../context.ts";
import type { CliIo } from "../io.ts";
import { askMailbox, askSettings } from "./ask-mailbox.ts";
import type { SetupFlags } from "./flags.ts";
import { type Asker, Cancelled, createAsker, MissingAnswer } from "./prompts.ts";
import { printReport, type SetupReport, showChange, toReport } from "./report.ts";
import { loginTimeout } from "./session.ts";
import { createTerminal } from "./terminal.ts";

/** Finds a mailbox, tries its login, and writes it into the configuration; with a person at the terminal step by step. */
export async function setUpMail(flags: SetupFlags, io: CliIo): Promise<void> {
  const isAttended = io.stdin.isTTY && io.stdout.isTTY && !flags.json;
  const asker = createAsker(flags, isAttended ? createTerminal() : undefined);
  try {
    printReport(await setUp(asker, io), flags.json);
  } catch (error) {
    failSetup(error, flags.json, io);
  }
}

async function setUp(asker: Asker, io: CliIo): Promise<SetupReport> {
  const { flags } = asker;
  const target = await readTarget(locateNewConfig(flags.config, io));
  const answer = await askMailbox(asker, target);
  const plan = planSetup(target, { ...answer, settings: await askSettings(asker, target) });
  const program = await loadPlan(plan, !flags.check);
  const { mail } = program.config.hooks;
  const source = await createMailSource(mail.source, program.config.plugged.mailSource);
  if (!source) throw new Error("The plan has no mailbox.");
  if (flags.check) await requireLogin(asker, source, mail.source?.host);

  const report = toReport(plan, source, await findWarnings(plan, program));
  if (isDone(plan)) return report;
  if (!flags.json && plan.before !== plan.after) console.log(showChange(plan));
  if (flags.dryRun) return { ...report, changed: true };
  await requireConsent(asker, plan);
  writeSetup(plan);
  return { ...report, changed: true, written: true };
}

async function requireLogin(asker: Asker, source: MailSource, host = ""): Promise<void> {
  try {
    await asker.during("Trying the login", () => source.check(loginTimeout()));
  } catch (error) {
    const hint = error instanceof MailError && error.kind === "login" ? findHint(host) : undefined;
    throw hint ? new MailError("login", `${messageOf(error)} ${hint}`, { cause: error }) : error;
  }
}

async function requireConsent({ flags, person }: Asker, { file }: SetupPlan): Promise<void> {
  if (flags.yes) return;
  if (!person)
    throw new MissingAnswer("--yes", `nobody is asked whether ${file} is to be written (--dry-run shows the change)`);
  if (!(await person.confirm(`Write ${file}?`))) throw new Cancelled();
}

/**
 * Builds what `serve` would serve once the plan is carried out. Throws a `ConfigError` with everything that stands in its way.
 * `tolerant`: variables that are not set here count as if they were, for a service that runs elsewhere.
 */
export async function loadPlan({ file, after, unwritten }: SetupPlan, tolerant: boolean): Promise<Program> {
  const env = tolerant ? { ...placeholders(after), ...process.env } : process.env;
  const runner = createSandbox({ telemetry: createTelemetry("error") });
  try {
    return await buildProgram({
      generation: 1,
      load: () => readConfigText(file, after, { env, unwritten }),
      runner,
    });
  } finally {
    await runner.close();
  }
}

/** Long enough for a token. */
const PLACEHOLDER = "not-set-in-this-environment";

function placeholders(text: string): NodeJS.ProcessEnv {
  const names = [...text.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name = ""]) => name);
  return Object.fromEntries(names.map((name) => [name, `${PLACEHOLDER}-${name}`]));
}

const MAIL_CODES: Record<MailError["kind"], string> = {
  login: "login_refused",
  network: "network",
  tls: "tls_failed",
  gone: "mailbox_gone",
};

/** The way out where nothing was written: exit code 2 where an answer is missing, else 1. */
function failSetup(error: unknown, json: boolean, io: CliIo): void {
  io.exitCode = error instanceof MissingAnswer ? 2 : 1;
  const { code, sentence } = describe(error);
  if (json) console.log(JSON.stringify({ ok: false, error: sentence, code }));
  else console.error(`${toPrintable(sentence)}\nNothing was written.`);
}

function describe(error: unknown): { code: string; sentence: string } {
  if (error instanceof MissingAnswer) return { code: "missing_answer", sentence: error.message };
  if (error instanceof Cancelled) return { code: "cancelled", sentence: "Cancelled." };
  if (error instanceof MailError) return { code: MAIL_CODES[error.kind], sentence: error.message };
  if (error instanceof ConfigError) return { code: "config", sentence: describeError(error) };
  return { code: "fault", sentence: messageOf(error) };
}

/** What a person should know of a plan that can be carried out all the same, in sentences. */
export async function findWarnings(plan: SetupPlan, { config, warnings }: Program): Promise<string[]> {
  const ofMail = warnings.filter(({ key }) => key?.startsWith("hooks.mail"));
  const sentences = [...ofMail, ...(await findUnset(plan))].map(toSentence);
  const channels = Object.keys(config.channels).length + config.plugged.channels.size;
  return channels > 0 ? sentences : [...sentences, NO_CHANNEL];
}

const NO_CHANNEL =
  "No channel is configured: the agent's replies reach nobody until one is (“Agents and channels” in the README).";

/** With --no-check a plan may count on what is not set here; whoever serves it needs it. */
async function findUnset({ file, after, unwritten }: SetupPlan): Promise<Program["warnings"]> {
  return (await readConfigText(file, after, { env: process.env, unwritten })).problems;
}
