import { toCommand } from "../../core/shared/text/command.ts";
import { trimSlashes } from "../../core/shared/text/text.ts";
import type { Command } from "commander";
import { existsSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { readEnvFile } from "../../core/config/env-file.ts";
import {
  createPresetSecret,
  findUses,
  findWrittenUse,
  planChanges,
  planUse,
  requireUnused,
} from "../../service/authoring/plan.ts";
import { inFile, readTarget, readWritten, selectPart, type Target } from "../../service/authoring/target.ts";
import { findPresets, type PresetPlace, readPreset, requirePreset } from "../../core/config/presets/file.ts";
import { writeConnectSteps, writePresetPage } from "../../core/config/presets/page.ts";
import { readAuth, toParametersSchema } from "../../core/config/presets/parameters.ts";
import { resolveReferences } from "../../core/config/references.ts";
import { isSecretKey } from "../../core/config/rules/secrets.ts";
import { ConfigError, toSentence } from "../../core/errors.ts";
import { findVendor, type Vendors } from "../../core/ports/vendor.ts";
import { showHookId } from "../../vendors/kit/subscriptions.ts";
import { toObject, toText } from "../../core/shared/json.ts";
import {
  addConfigOptions,
  addPair,
  addWriteOptions,
  CONFIG_HELP,
  locateEnvFile,
  PART_HELP,
  PRESET_HELP,
  UsageError,
} from "../command.ts";
import { loadConfig, locateNewConfig, parseJsonOrText, readSecret, searchPresets } from "../context.ts";
import { type CliIo, print, printJson, printJsonLine, printWarnings, style, wrapSteps } from "../io.ts";
import { applyPlan, loadPlan, openTerminal, plainChange, printWritten, readPlan, runChange } from "./change.ts";
import { type CopyFlags, copyPreset } from "./preset-copy.ts";
import { removeTunnelWebhooks } from "../live/dev-tunnel.ts";
import { registerPreset, unregisterPreset } from "./registration.ts";
import {
  findRegistrar,
  refuseUnknownUrl,
  refuseUnused,
  type Registrar,
  type RegisterCommand,
  type RegisterFlags,
} from "./sender.ts";
import { addVerify } from "./verify.ts";
import { MissingAnswer, type Terminal } from "./terminal.ts";

export function addPresets(program: Command, io: CliIo): void {
  const presets = program.command("presets").description("Show and enable presets, for senders that need no mapping.");
  presets
    .command("list")
    .description("List the presets.")
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) => {
      const found = findPresets().map((name) => {
        const { description, aliases = [] } = readPreset(name).preset;
        return { name, description, aliases };
      });
      if (json) return printJson(io, found);
      const width = Math.max(...found.map(({ name }) => name.length)) + 2;
      const help = Object.assign(presets.createHelp(), { minWidthToWrap: 0 });
      const lines = found.flatMap(({ name, description, aliases }) => {
        const text = aliases.length === 0 ? description : `${description} Also: ${aliases.join(", ")}.`;
        const [first = "", ...rest] = help.boxWrap(text, (io.stdout.columns ?? Infinity) - width).split("\n");
        return [`${name.padEnd(width)}${first}`, ...rest.map((line) => " ".repeat(width) + line)];
      });
      print(io, style("dim", `${"preset".padEnd(width)}what it does`), ...lines);
    });
  presets
    .command("show")
    .description("Show a preset's page: what to set at the sender, events, options and an example.")
    .argument("<name>", PRESET_HELP)
    .option("--json", "print the preset itself, as JSON", false)
    .option("--config <file>", CONFIG_HELP)
    .action(async (name: string, { json, config }: { json: boolean; config?: string }) => {
      const { folder, written } = requirePreset(name, await searchPresets({ config }, io));
      if (json) printJson(io, readPreset(folder).preset);
      else print(io, writePresetPage(folder, written).trimEnd());
    });
  const enable = presets.command("enable").argument("<name>", PRESET_HELP);
  addWriteOptions(enable, `${CONFIG_HELP}; created if missing`)
    .description("Add a preset to the configuration, store its secret, and say what to set at the sender.")
    .option("--secret <secret>", "the sender's secret; - for standard input, or a reference such as ${GITHUB_SECRET}")
    .option("--generate", "make a secret", false)
    .option("--path <hook>", "the hook's name (default: the preset's)")
    .option("--part <file>", PART_HELP)
    .option("--events <names>", "the events that lead to an action, separated by commas")
    .option("--with <name=value>", "another option of the preset; may be repeated", addPair("="), {})
    .option("--register [place]", "register the webhook by the sender's API: in this repository, project, team or shop")
    .option("--place <place>", "with --register or --unregister: at which of several entries of place")
    .option("--unregister", "delete the webhook at the sender, and leave the configuration", false)
    .option("--replace", "register it instead of another webhook, where there can be only one", false)
    .option("--token <token>", TOKEN_HELP)
    .action((name: string, flags: EnableFlags) => runChange(flags, io, () => enablePreset(name, flags, io)));
  const disable = presets.command("disable").argument("<name>", PRESET_HELP);
  addWriteOptions(disable)
    .description("Remove a preset from the configuration.")
    .option("--path <hook>", "the hook's name (default: the preset's)")
    .option(
      "--unregister",
      "delete its webhook at the sender first, and what `npx hookline dev --tunnel` left there",
      false,
    )
    .option("--token <token>", TOKEN_HELP)
    .action((name: string, flags: EnableFlags) => runChange(flags, io, () => disablePreset(name, flags, io)));
  addVerify(presets, io);
  addConfigOptions(presets.command("copy"))
    .description("Replace a preset by its mappings, templates and samples, as your own to change.")
    .argument("<name>", PRESET_HELP)
    .option("--path <hook>", "the hook's name, if the preset is used for several")
    .option("--print", "show the mappings and write nothing", false)
    .action(async (name: string, flags: CopyFlags) =>
      copyPreset(requirePreset(name, await searchPresets(flags, io)), flags, io),
    );
}

const TOKEN_HELP = "token of the sender's API (default: apiToken, or that of the channel); it is not stored";

interface EnableFlags extends RegisterFlags {
  unregister: boolean;
  secret?: string;
  generate: boolean;
  events?: string;
  with: Record<string, string>;
}

interface Person {
  io: CliIo;
  terminal: Terminal | undefined;
}

/** Adds a preset to the configuration with its secret in a file, and says what to set at the sender. */
async function enablePreset(given: string, flags: EnableFlags, io: CliIo): Promise<void> {
  const search = await searchPresets(flags, io);
  const preset = requirePreset(given, search);
  const { name } = preset;
  const vendor = findRegistrar(name, search.vendors);
  if (flags.unregister) return unregister({ preset, vendor, flags, io });
  if (vendor && flags.register !== undefined) {
    if (flags.secret !== undefined && vendor.webhooks.secretBy !== "app")
      throw new UsageError("Give either --register or --secret, not both.");
    return registerPreset({ preset, vendor, flags, io }, readOptions(flags));
  }
  const terminal = openTerminal(flags, io);
  const target = selectPart(readTarget(locateNewConfig(flags.config, io), io.env), flags.part, io.cwd);
  const url = toUrl(target, flags.path ?? name);
  const byHand = flags.register === undefined ? [] : describeByHand(preset, url, search.vendors);
  if (!flags.json) print(io, ...byHand);
  // With --register, a preset that is used only lacks its webhook.
  if (byHand.length > 0 && findWrittenUse(target, preset, flags.path)) {
    if (flags.json) printJsonLine(io, { ok: true, file: target.file, written: false, url, notes: byHand });
    return;
  }
  requireUnused(target, preset, flags.path);
  // Some senders show their secret only when the hook is created there.
  terminal?.note(`URL: ${url}\n${writeConnectSteps(preset, url)}`);
  const plan = planUse(target, { preset, options: await askOptions(preset, flags, { io, terminal }) });
  await loadPlan(plan, io);
  const written = await applyPlan(plan, flags, io);
  const { file } = plan;
  const secretFiles = [...plan.secretFiles.keys()];
  const secretFile = secretFiles.find((secret) => secret.endsWith("-secret"));
  const steps = writeConnectSteps(preset, url, secretFile && relative(io.cwd, secretFile));
  const found = await readPlan(plan, io.env);
  const warnings = [...found.problems, ...found.warnings].map(toSentence);
  if (flags.json) {
    const result = {
      ok: true,
      file,
      written,
      url,
      notes: byHand,
      steps,
      secretFiles,
      diff: plainChange(plan),
      warnings,
    };
    return printJsonLine(io, result);
  }
  if (written) printWritten(plan, io);
  else print(io, "Nothing was written.");
  print(io, `URL: ${url}`, ...(steps === "" ? [] : wrapSteps(io, steps)));
  printWarnings(io, warnings);
}

/** Steps for the person, where no API can register a webhook. */
function describeByHand({ name, folder, written }: PresetPlace, url: string, vendors: Vendors): string[] {
  const vendor = findVendor(vendors, name);
  if (!vendor?.describeSetup)
    return [`The webhook of ${name} cannot be registered by an API. See \`${toCommand("presets show", written)}\`.`];
  // Without gateway.publicUrl, it has a placeholder in place of the host.
  if (!URL.canParse(url)) throw refuseUnknownUrl();
  const { events } = readPreset(folder).preset;
  return vendor.describeSetup(url, events?.default ?? []);
}

async function unregister({
  preset,
  vendor,
  flags,
  io,
}: Omit<RegisterCommand, "flags" | "vendor"> & { vendor?: Registrar; flags: EnableFlags }): Promise<void> {
  const message = `The webhook of ${preset.name} cannot be deleted by an API. Delete it at the sender.`;
  if (!vendor) throw new ConfigError([{ message }]);
  const removed = await unregisterPreset({ preset, vendor, flags, io });
  if (flags.json) printJsonLine(io, { ok: true, removed });
  else if (removed.length > 0) print(io, `Deleted at ${vendor.service}: ${removed.map(showHookId).join(", ")}.`);
}

/** Removes a preset from the configuration, and its webhook before. */
async function disablePreset(given: string, flags: EnableFlags, io: CliIo): Promise<void> {
  const search = await searchPresets(flags, io);
  const preset = requirePreset(given, search);
  const { name } = preset;
  const vendor = findRegistrar(name, search.vendors);
  const removed = flags.unregister && vendor ? await unregisterPreset({ preset, vendor, flags, io }) : [];
  if (flags.unregister && !flags.dryRun) {
    const left = await removeTunnelWebhooks(await loadConfig(flags.config, io), {
      preset: name,
      hook: flags.path ?? name,
    });
    if (!flags.json) print(io, ...left);
  }
  const target = readTarget(locateNewConfig(flags.config, io), io.env);
  const use = findWrittenUse(target, preset, flags.path);
  if (!use) {
    const hooks = findUses(target, preset).map(({ hook }) => hook);
    throw refuseUnused(preset, target.config, hooks);
  }
  const changes = [{ kind: "remove", path: use.at }] as const;
  const plan = planChanges(inFile(target, use.file), changes, { secretFiles: new Map() });
  await loadPlan(plan, io);
  const written = await applyPlan(plan, flags, io);
  const left = listSecrets(use.with);
  if (flags.json) {
    return printJsonLine(io, { ok: true, file: plan.file, written, removed, diff: plainChange(plan), left });
  }
  if (!written) return print(io, "Nothing was written.");
  printWritten(plan, io);
  if (left.length === 0) return;
  print(io, "Left where they are, to be deleted if nothing else uses them:", ...left.map((place) => `  ${place}`));

  /** The variables and files that the preset's use has named, with their places. */
  function listSecrets(options: Record<string, unknown>): string[] {
    const envFile = locateEnvFile(flags, io);
    const names = [...JSON.stringify(options).matchAll(/\$\{(?:file:([^}]+)|([A-Za-z_]\w*)[^}]*)\}/g)];
    return names.flatMap(([, file, variable = ""]) => {
      if (file !== undefined) return [relative(io.cwd, resolve(dirname(plan.file), file))];
      const isThere = existsSync(envFile) && variable in readEnvFile(envFile);
      return [isThere ? `${variable} in ${relative(io.cwd, envFile)}` : `the environment variable ${variable}`];
    });
  }
}

function readOptions(flags: Pick<EnableFlags, "events" | "with">): Record<string, unknown> {
  const events = flags.events?.split(",").map((event) => event.trim());
  const others = Object.entries(flags.with).map(([option, text]) => [option, parseJsonOrText(text)]);
  return { events, ...Object.fromEntries(others) };
}

/** The options for `with`. Missing ones are asked for. */
export async function askOptions(
  { name, folder }: PresetPlace,
  flags: Pick<EnableFlags, "path" | "events" | "with" | "secret" | "generate">,
  person: Person,
): Promise<Record<string, unknown>> {
  const { preset } = readPreset(folder);
  const { properties } = toParametersSchema(preset);
  const given = readOptions(flags);
  const usual = Object.entries(properties).map(([option, schema]) => [option, schema["default"]]);
  const { credential, scheme } = readAuth(preset, { ...Object.fromEntries(usual), ...given });
  const makeSecret = (): string => createPresetSecret(name, scheme);
  const secret = credential === "secret" ? await askSecret(flags, person, makeSecret) : undefined;
  const options: Record<string, unknown> = { path: flags.path, secret, ...given };
  const secrets = Object.keys(preset.parameters ?? {}).filter(isSecretKey);
  const required = [...(preset.required ?? []), ...(credential === undefined ? [] : [credential])];
  for (const missing of [...required, ...secrets].filter((option) => options[option] === undefined)) {
    const description = toText(properties[missing]?.["description"]);
    if (person.terminal) options[missing] = await person.terminal.text({ message: `${missing}: ${description}` });
    else if (required.includes(missing)) throw new MissingAnswer(`--with ${missing}=<value>`, description);
  }
  return options;
}

async function askSecret(
  { secret, generate }: Pick<EnableFlags, "secret" | "generate">,
  { io, terminal }: Person,
  makeSecret: () => string,
): Promise<string> {
  if (secret !== undefined && generate) throw new UsageError("Give either --secret or --generate, not both.");
  if (generate) return makeSecret();
  if (secret !== undefined) {
    const given = await readSecret(secret, io);
    if (given.trim() === "") throw new UsageError("--secret must not be empty.");
    return given;
  }
  if (!terminal) throw new MissingAnswer("--secret or --generate", "how the sender authenticates");
  const choice = await terminal.choose({
    message: "The secret that the sender signs with: where is it from?",
    choices: [
      { value: "text", label: "The sender shows it: type it here" },
      { value: "make", label: "Make one, to be entered at the sender" },
    ],
  });
  return choice === "make" ? makeSecret() : terminal.secret("Secret (hidden)");
}

/** The hook's address as senders know it. */
export function toUrl(target: Target, hook: string): string {
  const keys = {
    publicUrl: readWritten(target, ["gateway", "publicUrl"]),
    path: readWritten(target, ["hooks", "path"]),
  };
  const { value } = resolveReferences(keys, { env: target.env, baseDir: dirname(target.config) });
  const { publicUrl = "https://<your host>", path = "hooks" } = toObject(value);
  return `${String(publicUrl).replace(/\/+$/, "")}/${trimSlashes(String(path))}/${trimSlashes(hook)}`;
}
