import type { Command } from "commander";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type Change, editConfig } from "../../service/authoring/edit-config.ts";
import { type ConfigPlan, findUses, planBasics, planUse, planSecret, writePlan } from "../../service/authoring/plan.ts";
import {
  inFile,
  readTarget,
  type Target,
  whereSet,
  withText,
  type WrittenFile,
} from "../../service/authoring/target.ts";
import { readConfigText } from "../../service/drivers.ts";
import { parseSource } from "../../core/config/parse/source.ts";
import { type PresetPlace, readPreset, requirePreset } from "../../core/config/presets/file.ts";
import { writeConnectSteps } from "../../core/config/presets/page.ts";
import { ConfigError } from "../../core/errors.ts";
import { replaceFile } from "../../core/shared/system/files.ts";
import { PACKAGE_ROOT } from "../../core/shared/system/package.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { addItem } from "../command.ts";
import { locateNewConfig, searchPresets } from "../context.ts";
import { type CliIo, commandName, listFiles, nameCommands, print, printJsonLine, style, wrapSteps } from "../io.ts";
import { toCommand } from "../../core/shared/text/command.ts";
import { confirmWrite, openTerminal, readPlan, runChange, showChange } from "./change.ts";
import { type Answers, askAnswers } from "./init-answers.ts";
import { askOptions, toUrl } from "./presets.ts";
import { isPackageInstalled } from "./module-types.ts";
import { writeEditorFiles, writeVscode } from "./editor-files.ts";
import { EXAMPLE, readTemplate, writeFirstConfig } from "./templates.ts";
import type { Terminal } from "./terminal.ts";

interface InitFlags {
  config?: string;
  preset: string[];
  model?: string;
  vscode: boolean;
  yes: boolean;
  json: boolean;
}

/** The result, as `--json` prints it. */
interface InitReport {
  ok: true;
  /** The configuration, absolute. */
  file: string;
  /** Files that were written or changed, and those that were there before; absolute. */
  written: string[];
  kept: string[];
  notes: string[];
  next: NextStep[];
}

/** VS Code completes JSON with comments, but not JSON5. */
const NEW_CONFIG = "webhooks.jsonc";

export function addInit(program: Command, io: CliIo): void {
  program
    .command("init")
    .description(
      "Write a first configuration with its tokens, and a folder for transforms. Files that exist stay as they are.",
    )
    .option("--preset <name>", "a sender that needs no mapping, by name or folder; may be repeated", addItem, [])
    .option("--model <model>", "openai:<model>, anthropic:<model>, ollama or ollama:<model>")
    .option(
      "--config <file>",
      "file to write: .jsonc, .json, .json5 or .yaml (default: $WEBHOOKS_CONFIG, else webhooks.jsonc here)",
    )
    .option("--vscode", "also write .vscode, for a configuration in JSON5 or YAML", false)
    .option("--yes", "do not ask", false)
    .option("--json", "no questions; print one JSON object", false)
    .action((flags: InitFlags) => runChange(flags, io, () => initialize(flags, io)));
}

/** Makes a folder one that can be served. Existing files stay as they are, but for what flags add to a configuration. */
async function initialize(flags: InitFlags, io: CliIo): Promise<void> {
  const terminal = flags.yes ? undefined : openTerminal(flags, io);
  const report = await writeProject(flags, io, terminal);
  if (flags.json) printJsonLine(io, report);
  else printReport(report, io);
}

async function writeProject(flags: InitFlags, io: CliIo, terminal: Terminal | undefined): Promise<InitReport> {
  const target = readTarget(locateNewConfig(flags.config, io, NEW_CONFIG), io.env);
  const search = await searchPresets(flags, io);
  const given = { presets: flags.preset.map((use) => requirePreset(use, search)), model: flags.model };
  const answers = await askAnswers(given, target, terminal);
  const [planned, ...parts] = await planConfig(target, answers, { io, terminal });
  const { config } = await requireValid(planned, parts, target);
  const hasExample = usesExample(planned);
  const { transformsDir } = config.hooks;
  const example = Object.entries(hasExample ? readTemplate(EXAMPLE) : {});
  const texts = [
    ...example.map(([file, text]) => [path.join(transformsDir, file), text] as const),
    ...(target.text === undefined ? [writeForAssistants(path.dirname(target.file))] : []),
  ];
  const newFiles = new Map(texts.filter(([file]) => !existsSync(file)));
  const plan = { ...planned, newFiles };

  const changed = [plan, ...parts].filter(({ before, after }) => before !== after);
  for (const change of changed.filter(({ before }) => before !== undefined)) {
    if (!flags.json) print(io, showChange(change));
    await confirmWrite(change.file, flags, io);
  }
  for (const each of [plan, ...parts]) writePlan(each);
  const editor = writeEditorFiles(transformsDir, config);
  const folder = path.dirname(plan.file);
  const vscode = flags.vscode ? writeVscode(folder, locateSchema(folder)) : { written: [], kept: [] };
  const written = [
    ...changed.map(({ file }) => file),
    ...plan.secretFiles.keys(),
    ...editor.written,
    ...vscode.written,
    ...newFiles.keys(),
    ...ignoreState(plan.file, target.stateDir),
  ];
  const kept = [plan.file, ...editor.kept, ...vscode.kept, ...texts.map(([file]) => file)].filter(
    (file) => !written.includes(file),
  );

  const { model, apiKey, presets } = answers;
  const notes = model?.note === undefined ? [] : [model.note];
  const variable = apiKey === undefined ? model?.keyVariable : undefined;
  if (variable !== undefined && !io.env[variable]) notes.push(`Set ${variable} before you start: export ${variable}=…`);
  notes.push(...presets.flatMap((preset) => describeSender(preset, plan, target, io.cwd)));
  return { ok: true, file: plan.file, written, kept, notes, next: listNext(presets[0], hasExample, io) };
}

/** `AGENTS.md` leads coding assistants to the package's skill. */
function writeForAssistants(folder: string): readonly [file: string, text: string] {
  const installed = isPackageInstalled(folder) ? "node_modules/hookline" : PACKAGE_ROOT;
  const text =
    "# Hookline\n\nThis folder configures Hookline, which receives webhooks and runs an agent on them. Before you change it, read\n" +
    `${installed}/docs/skill/SKILL.md: how to connect a sender, write a transform, try it and check it.\n`;
  return [path.join(folder, "AGENTS.md"), text];
}

/** The first configuration, or the existing one with what the person asked for, and its parts that change. */
async function planConfig(
  target: Target,
  answers: Answers,
  { io, terminal }: { io: CliIo; terminal: Terminal | undefined },
): Promise<[ConfigPlan, ...ConfigPlan[]]> {
  const { presets } = answers;
  const secretFiles = new Map<string, string>();
  let after = target.text ?? writeNew(target, presets, secretFiles);
  for (const preset of presets) {
    const soFar = withText(target, after);
    if (findUses(soFar, preset).length > 0) continue;
    const wanted = { with: {}, generate: terminal === undefined };
    const plan = planUse(soFar, { preset, options: await askOptions(preset, wanted, { io, terminal }) });
    for (const [file, text] of plan.secretFiles) if (!existsSync(file)) secretFiles.set(file, text);
    after = plan.after;
  }
  const [main = target, ...parts] = setModel(withText(target, after), answers, secretFiles).files;
  const toPlan = ({ file, text = "" }: WrittenFile): ConfigPlan => {
    const before = target.files.find((one) => one.file === file)?.text;
    return { file, config: target.config, before, after: text, secretFiles };
  };
  return [toPlan(main), ...parts.map(toPlan).filter((plan) => plan.before !== plan.after)];
}

/** The configuration with a model, whose provider and name are in the files that have some already. */
function setModel(target: Target, { model, apiKey }: Answers, secretFiles: Map<string, string>): Target {
  if (!model) return target;
  const [block, name] = [
    ["agents", "providers", model.provider],
    ["agents", "defaults", "model"],
  ] as const;
  const set = (to: Target, key: readonly string[], value: unknown): Target =>
    inFile(withText(to, editConfig(to.file, to.text ?? "", [{ kind: "set", path: key, value }])), target.file);
  const place = whereSet(target, block);
  const secret = { name: `${model.provider}-api-key`, secret: apiKey ?? "" };
  const reference = apiKey === undefined ? {} : { apiKey: planSecret(place, secret, secretFiles) };
  const changed = set(place, block, { ...model.block, ...reference });
  return set(whereSet(changed, name), name, model.model);
}

function writeNew(target: Target, presets: PresetPlace[], secretFiles: Map<string, string>): string {
  const folder = path.dirname(target.file);
  const changes: Change[] = planBasics(target, secretFiles);
  const isFree = !existsSync(path.join(folder, "transforms", `${EXAMPLE}.ts`));
  const hasExample = presets.length === 0 && isFree;
  return writeFirstConfig(target.file, changes, {
    hasExample,
    schema: locateSchema(folder),
    command: commandName(target),
  });
}

/** The schema of the package that is installed in this folder or one above it, as in a workspace; else that of this program. */
function locateSchema(folder: string): string {
  const name = "schemas/config.json";
  for (let root = folder; ; root = path.dirname(root)) {
    const installed = path.join(root, "node_modules/hookline", name);
    if (existsSync(installed)) {
      const relative = path.relative(folder, installed).split(path.sep).join("/");
      return relative.startsWith("../") ? relative : `./${relative}`;
    }
    if (root === path.dirname(root)) return pathToFileURL(path.join(PACKAGE_ROOT, name)).href;
  }
}

/** Only what the change brings is refused here; the rest of an existing configuration is `webhooks check`'s. */
async function requireValid(plan: ConfigPlan, parts: ConfigPlan[], { env }: Target) {
  const { file, before } = plan;
  const read = await readPlan({ ...plan, newFiles: new Map(parts.map((part) => [part.file, part.after])) }, env);
  const known = before === undefined ? [] : (await readConfigText(file, before, { env })).problems;
  const problems = read.problems.filter(
    ({ message }) => !known.some((old) => old.message === message) && !/is not set/.test(message),
  );
  if (problems.length > 0) throw new ConfigError(problems);
  return read;
}

function usesExample({ before, after, file }: ConfigPlan): boolean {
  return before === undefined && JSON.stringify(parseSource(file, after).value).includes(`"${EXAMPLE}.ts"`);
}

function printReport({ written, kept, notes, next }: InitReport, io: CliIo): void {
  if (written.length > 0) print(io, "Written:", ...listFiles(io, written));
  if (kept.length > 0) print(io, "Kept as it was:", ...listFiles(io, kept));
  for (const note of notes) print(io, "", ...wrapSteps(io, toPrintable(note)));
  print(io, "", "Next:", ...next.flatMap((step) => describeStep(step, next, io)));
}

/** A step on one line if all steps fit the terminal, else its purpose below the command. */
function describeStep({ command, purpose }: NextStep, steps: NextStep[], io: CliIo): string[] {
  const width = Math.max(...steps.map((step) => step.command.length));
  const fits = steps.every((step) => width + step.purpose.length + 4 <= (io.stdout.columns ?? Infinity));
  if (fits) return [`  ${command.padEnd(width)}  ${style("dim", purpose)}`];
  return [`  ${command}`, style("dim", `    ${purpose}`)];
}

/** Keeps the tokens out of version control. Returns the file if it was changed. */
function ignoreState(configFile: string, stateDir: string): string[] {
  const folder = path.dirname(configFile);
  const state = path.relative(folder, stateDir);
  if (state.startsWith("..") || path.isAbsolute(state)) return [];
  const file = path.join(folder, ".gitignore");
  const text = existsSync(file) ? readFileSync(file, "utf8") : undefined;
  const lines = text?.split(/\r?\n/).map((line) => line.trim().replaceAll(/^\/|\/$/g, "")) ?? [];
  const missing = [state, ...(text === undefined ? ["node_modules"] : [])].filter((name) => !lines.includes(name));
  if (missing.length === 0) return [];
  const start = text === undefined || text === "" || text.endsWith("\n") ? (text ?? "") : `${text}\n`;
  replaceFile(file, `${start}${missing.map((name) => `${name.split(path.sep).join("/")}/\n`).join("")}`, {
    expected: text ?? null,
  });
  return [file];
}

interface NextStep {
  command: string;
  purpose: string;
}

/** Steps at the sender of a preset; empty if there are none. */
function describeSender(preset: PresetPlace, { after }: ConfigPlan, target: Target, cwd: string): string[] {
  const { name } = preset;
  const url = toUrl(withText(target, after), name);
  const secret = path.join(target.stateDir, `${name}-secret`);
  const steps = writeConnectSteps(preset, url, path.relative(cwd, secret));
  return steps === "" ? [] : [`To connect ${name}:\n${steps}`];
}

/** Serve, post a sample, look or go on. */
function listNext(preset: PresetPlace | undefined, hasExample: boolean, io: CliIo): NextStep[] {
  const step = (command: string, purpose: string, ...values: string[]): NextStep => ({
    command: nameCommands(io, toCommand(command, ...values)),
    purpose,
  });
  const ofPreset = preset === undefined ? undefined : findPresetSample(preset);
  const ofExample = hasExample ? ["send", EXAMPLE, `transforms/${EXAMPLE}.samples/problem.json`] : undefined;
  const ofSender = preset && ofPreset !== undefined ? ["send --sample", ofPreset, preset.name] : undefined;
  const [send, ...sample] = ofSender ?? ofExample ?? [];
  return [
    step("dev", "serves the hooks and shows each request; keep it open"),
    send === undefined
      ? step("check", "shows what is configured")
      : step(send, "in a second terminal: posts a sample as its sender would", ...sample),
    preset === undefined
      ? step("events show --last", "shows everything about the last request")
      : step("transform new --from-event last", "writes code of your own for its events, with their type", preset.name),
  ];
}

/** The name of the sample of a preset that its page shows. */
function findPresetSample({ folder }: PresetPlace): string | undefined {
  const { example } = readPreset(folder).preset;
  return example !== undefined && existsSync(path.join(folder, "samples", `${example}.json`)) ? example : undefined;
}
