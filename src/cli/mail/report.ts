import { stripVTControlCharacters } from "node:util";
import { ConfigError } from "../../errors.ts";
import { hideSecrets, type SetupPlan } from "../../mail/setup/plan.ts";
import type { MailSource } from "../../mail/source.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { formatDiff } from "../format.ts";

/** What a setup has come to, as `--json` prints it. */
export interface SetupReport {
  ok: true;
  /** The configuration, absolute. */
  file: string;
  /** Whether anything differs from what was there. */
  changed: boolean;
  written: boolean;
  /** `imap://ann@mail.example.com` */
  mailbox: string;
  folders: readonly string[];
  /** Files with secrets that go with it, absolute. */
  secretFiles: string[];
  /** The change to the configuration, line by line, secrets hidden. */
  diff?: string;
  warnings: string[];
}

/** Puts together what is known before anything is written. */
export function toReport(plan: SetupPlan, source: MailSource, warnings: string[]): SetupReport {
  const { file, before, after, unwritten } = plan;
  return {
    ok: true,
    file,
    changed: false,
    written: false,
    mailbox: source.mailbox,
    folders: source.folders,
    secretFiles: [...unwritten.keys()],
    ...(before !== after && { diff: stripVTControlCharacters(showChange(plan)) }),
    warnings,
  };
}

/** Says what was done, and what comes next. */
export function printReport(report: SetupReport, json: boolean): void {
  if (json) return console.log(JSON.stringify(report));
  const lines = [
    `Mailbox ${toPrintable(report.mailbox)}: ${report.folders.map(toPrintable).join(", ")}`,
    ...describeOutcome(report),
  ];
  console.log(lines.join("\n"));
  for (const warning of report.warnings) console.warn(`warning: ${toPrintable(warning)}`);
}

function describeOutcome({ file, changed, written, secretFiles }: SetupReport): string[] {
  if (!changed) return [`${file} says so already: nothing was changed.`];
  if (!written) return ["Nothing was written."];
  const secrets = secretFiles.map((secret) => `  ${secret} (a secret: for your user alone)`);
  const next =
    "Next: `webhooks serve` watches the mailbox. With hooks.mail.autoStart: false it leaves that to `webhooks mail run`.";
  return ["Written:", `  ${file}`, ...secrets, next];
}

/** The change for a terminal, secrets hidden. */
export function showChange({ file, before = "", after }: SetupPlan): string {
  try {
    const names = { expected: "before", given: "after" };
    return formatDiff(toLines(file, before), toLines(file, after), names).join("\n");
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return "(The change is not shown: a secret in this file cannot be hidden.)";
  }
}

function toLines(file: string, text: string): string[] {
  return text === "" ? [] : toPrintable(hideSecrets(file, text).trimEnd().replaceAll("\r\n", "\n")).split("\n");
}
