import { MailError, messageOf } from "../errors.ts";
import type { MailSource } from "../mail/port.ts";
import { createMailSource } from "../mail/registry.ts";
import { planSetup, type SetupPlan } from "../mail/setup/plan-setup.ts";
import { findHint } from "../mail/setup/providers.ts";
import { readTarget } from "../mail/setup/target.ts";
import { isDone, writeSetup } from "../mail/setup/write-setup.ts";
import { locateNewConfig } from "./locate.ts";
import { askMailbox } from "./mail-setup/ask-mailbox.ts";
import { askSettings } from "./mail-setup/ask-settings.ts";
import { type Asker, Cancelled, createAsker, MissingAnswer } from "./mail-setup/asker.ts";
import { failSetup } from "./mail-setup/fail-setup.ts";
import type { SetupFlags } from "./mail-setup/flags.ts";
import { findWarnings } from "./mail-setup/find-warnings.ts";
import { loadPlan } from "./mail-setup/load-plan.ts";
import { printReport, type SetupReport, showChange, toReport } from "./mail-setup/report.ts";
import { loginTimeout } from "./mail-setup/session.ts";
import { createTerminal } from "./mail-setup/terminal.ts";

/** Finds a mailbox, tries its login, and writes it into the configuration; with a person at the terminal step by step. */
export async function setUpMail(flags: SetupFlags): Promise<void> {
  const isAttended = process.stdin.isTTY && process.stdout.isTTY && !flags.json;
  const asker = createAsker(flags, isAttended ? createTerminal() : undefined);
  try {
    printReport(await setUp(asker), flags.json);
  } catch (error) {
    failSetup(error, flags.json);
  }
}

async function setUp(asker: Asker): Promise<SetupReport> {
  const { flags } = asker;
  const target = await readTarget(locateNewConfig(flags.config));
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
    throw new MissingAnswer(
      "--yes",
      `nobody is asked whether ${file} is to be written (--dry-run shows the change)`,
    );
  if (!(await person.confirm(`Write ${file}?`))) throw new Cancelled();
}
