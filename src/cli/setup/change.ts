import { stripVTControlCharacters } from "node:util";
import { type ConfigPlan, hideSecrets, writePlan } from "../../service/authoring/plan.ts";
import { readTarget } from "../../service/authoring/target.ts";
import type { ReadConfig } from "../../core/config/load.ts";
import { readConfigText } from "../../service/drivers.ts";
import { readConfigFile } from "../../core/config/read-parts.ts";
import { toPlaceholder } from "../../core/config/typed-references.ts";
import { ConfigError, messageOf } from "../../core/errors.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { Canceled, classifyError, describeError, isFileError, type WriteFlags } from "../command.ts";
import { buildOnce } from "../context.ts";
import { formatDiff } from "../format.ts";
import { type CliIo, print, printError, printJsonLine } from "../io.ts";
import { createTerminal, MissingAnswer, type Terminal } from "./terminal.ts";

/** A terminal with a person at it, if there is one. */
export function openTerminal({ json }: { json: boolean }, io: CliIo): Terminal | undefined {
  return io.stdin.isTTY && io.stdout.isTTY && !json ? createTerminal(io) : undefined;
}

/**
 * Builds what `serve` would serve after the change. Throws a `ConfigError` with all problems. Without `strict`, variables that
 * are not set here count as set, for a service that runs elsewhere.
 */
export function loadPlan(plan: ConfigPlan, io: CliIo, { strict = false } = {}): Promise<Runtime> {
  const { files } = readTarget(plan.config ?? plan.file, io.env);
  const texts = [plan.after, ...files.map(({ text = "" }) => text)].join("\n");
  const names = [...texts.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name = ""]) => name);
  const placeholders = Object.fromEntries(names.map((name) => [name, toPlaceholder(name)]));
  const env = strict ? io.env : { ...placeholders, ...io.env };
  return buildOnce(() => readPlan(plan, env), io, plan.config ?? plan.file);
}

/** Shows the change, asks, and writes it. Resolves to whether it was written, which a dry run does not do. */
export async function applyPlan(plan: ConfigPlan, flags: WriteFlags, io: CliIo): Promise<boolean> {
  if (!flags.json && plan.before !== plan.after) print(io, showChange(plan));
  if (flags.dryRun) return false;
  await confirmWrite(plan.file, flags, io);
  writePlan(plan);
  return true;
}

/** The configuration after the change, with all that is wrong with it in this environment. */
export function readPlan(plan: ConfigPlan, env: NodeJS.ProcessEnv): Promise<ReadConfig> {
  const { file, config = file, after, secretFiles, newFiles = [] } = plan;
  const unwritten = new Map([...secretFiles, ...newFiles, [file, after] as const]);
  return readConfigText(config, config === file ? after : readConfigFile(config), { env, unwritten });
}

export function printWritten({ file, secretFiles }: ConfigPlan, io: CliIo): void {
  const secrets = Array.from(secretFiles.keys(), (secret) => `  ${secret} (a secret, readable only by your user)`);
  print(io, "Written:", `  ${file}`, ...secrets);
}

/** Throws `MissingAnswer` if nobody can be asked. */
export async function confirmWrite(file: string, flags: { yes: boolean; json: boolean }, io: CliIo): Promise<void> {
  if (flags.yes) return;
  const terminal = openTerminal(flags, io);
  if (!terminal) throw new MissingAnswer("--yes", `cannot ask whether to write ${file} (--dry-run shows the change)`);
  if (!(await terminal.confirm(`Write ${file}?`))) throw new Canceled();
}

/** The change for a terminal, with secrets hidden. */
export function showChange({ file, before = "", after }: ConfigPlan): string {
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

/** The change as `--json` has it. */
export function plainChange(plan: ConfigPlan): string {
  return stripVTControlCharacters(showChange(plan));
}

/** Runs a command that writes a configuration. If it fails, says that nothing was written, and why. */
export async function runChange({ json }: { json: boolean }, io: CliIo, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    const { code, exitCode } = classifyError(thrown);
    const isKnown = thrown instanceof ConfigError || isFileError(thrown);
    const error = isKnown ? describeError(thrown) : messageOf(thrown);
    io.exitCode = exitCode;
    if (json) printJsonLine(io, { ok: false, error, code });
    else printError(io, toPrintable(error), "Nothing was written.");
  }
}
