import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { setInEnvFile } from "../../core/config/env-file.ts";
import {
  type ConfigPlan,
  createPresetSecret,
  findWrittenUse,
  isReference,
  planChanges,
  planUse,
  writePlan,
  type WrittenUse,
} from "../../service/authoring/plan.ts";
import { readTarget, readWritten, selectPart, type Target } from "../../service/authoring/target.ts";
import { listPlaces, toHook, toWantedEvents } from "../../core/config/presets/api-access.ts";
import { compilePlaces } from "../../core/mapping/policy/bounds.ts";
import { findRegistration, type PresetPlace, readPreset } from "../../core/config/presets/file.ts";
import { readAuth } from "../../core/config/presets/parameters.ts";
import { ConfigError, messageOf } from "../../core/errors.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { planRegistration, type RegistrationPlan, runRegistration } from "./register.ts";
import { showHookId } from "../../vendors/kit/subscriptions.ts";
import { toObject, toText } from "../../core/shared/json.ts";
import { replaceFile } from "../../core/shared/system/files.ts";
import { EXIT_CODES, locateEnvFile, UsageError } from "../command.ts";
import { toCommand, toWord } from "../../core/shared/text/command.ts";
import { locateNewConfig, readSecret } from "../context.ts";
import { type CliIo, print, printError, printJsonLine, printWarnings } from "../io.ts";
import { confirmWrite, loadPlan, openTerminal, plainChange, printWritten, showChange } from "./change.ts";
import { openSenders, type RegisterCommand, type RegisterFlags, type Registrar, type Sender } from "./sender.ts";
import { MissingAnswer } from "./terminal.ts";

/** Adds the preset to the configuration if it is not there, and registers its webhook at the sender. */
export async function registerPreset(command: RegisterCommand, options: Record<string, unknown>): Promise<void> {
  const { flags, io } = command;
  const registration = await prepare(command, options);
  const { plan, actions, wanted } = registration;
  if (!flags.json) print(io, ...(plan.before === plan.after ? [] : [showChange(plan)]), ...actions);
  if (flags.dryRun) {
    if (!flags.json) return print(io, "Nothing was written.");
    return printJsonLine(io, { ok: true, written: false, url: wanted.url, actions, diff: plainChange(plan) });
  }
  await confirmWrite(plan.file, flags, io);
  await execute(registration, command);
}

interface Registration {
  plan: ConfigPlan;
  hooks: HookApi;
  steps: RegistrationPlan;
  wanted: WantedHook;
  /** The environment variable with the secret; undefined: the configuration has the secret itself, or a file. */
  variable: string | undefined;
  /** The file with the secret, absolute; undefined: the configuration has the secret itself, or a variable. */
  secretFile: string | undefined;
  /** A secret that has to be stored first: a new one of our own, or that of the sender's app. */
  toStore: string | undefined;
  isStored: boolean;
  /** A file that is there from before the sender makes a secret until that is stored: the stored one may be older. */
  unfinished: string;
  envFile: string;
  /** Planned actions, in a sentence each. */
  actions: string[];
}

/** Reads what there is, here and at the sender, and changes nothing. */
async function prepare(command: RegisterCommand, options: Record<string, unknown>): Promise<Registration> {
  const { preset, vendor, flags, io } = command;
  const { name } = preset;
  const { target, envFile } = readPlace(flags, io);
  const written = findWrittenUse(target, preset, flags.path);
  const place = await askPlace(command, written, target);
  const { reference, variable, named } = toSecretReference(written, flags.path ?? name);
  const secretFile = named === undefined ? undefined : path.resolve(path.dirname(written?.file ?? target.file), named);
  // A secret that the configuration has itself stays there.
  const secret = variable === undefined ? undefined : reference;
  const plan = planUse(selectPart(target, flags.part, io.cwd), {
    preset,
    options: { path: flags.path, ...options, place: addPlace(written, place), secret },
    use: written,
  });
  const isStored = variable === undefined || Boolean(io.env[variable]);
  const makeSecret = (): string => createPresetSecret(name, readAuth(readPreset(preset.folder).preset, options).scheme);
  const toStore = await getSecret(command, { variable, isStored, makeSecret });
  // The sender's own secret is not known yet.
  const unknown = isStored ? undefined : makeSecret();
  const env = variable === undefined ? io.env : { ...io.env, [variable]: toStore ?? unknown ?? io.env[variable] };
  await loadPlan(plan, { ...io, env });

  const [sender] = await openSenders(command, plan, { env, places: [place] });
  const { hooks, url, use } = sender!;
  const found = await hooks.find(url);
  if (found.length === 0 && !flags.replace) await refuseOther(sender!, vendor);
  const unfinished = path.join(target.stateDir, `${encodeURIComponent(flags.path ?? name)}-webhook.unfinished`);
  const steps = planRegistration(vendor.webhooks, found, isStored && !existsSync(unfinished));
  if (makesSecret(vendor, steps) && (variable ?? secretFile) === undefined) {
    throw refuseLiteral(sender!, vendor);
  }
  const isOfOther = isStored && written !== undefined && listPlaces(written).some((other) => other !== place);
  if (makesSecret(vendor, steps) && isOfOther) throw refuseSecond(sender!, vendor, target.file);
  const ours = vendor.webhooks.secretBy === "us" ? toText([use.with["secret"]].flat()[0]) : undefined;
  const what = vendor.webhooks.secretBy === "app" ? "the app's secret" : "a new secret";
  const toSet = toStore === undefined ? [] : [`In ${path.relative(io.cwd, envFile)}: set ${variable} to ${what}.`];
  return {
    plan,
    hooks,
    steps,
    wanted: { url, secret: ours, ...toWantedEvents(use) },
    variable,
    secretFile,
    toStore,
    isStored,
    unfinished,
    envFile,
    actions: [...describeSteps(steps, sender!, vendor), ...toSet],
  };
}

/** The secret that has to be stored before a webhook is made; undefined: there is one, or the sender makes it. */
async function getSecret(
  { vendor: { webhooks, service }, flags, io }: RegisterCommand,
  { variable, isStored, makeSecret }: { variable: string | undefined; isStored: boolean; makeSecret: () => string },
): Promise<string | undefined> {
  if (flags.secret !== undefined) {
    const given = await readSecret(flags.secret, io);
    const isText = given.trim() !== "" && !isReference(given);
    if (isText && variable !== undefined) return given;
    const message = isText
      ? "The configuration has the secret itself, or a file with it: change it there, not with --secret."
      : "--secret must be the secret itself with --register. It goes to the file of --env-file.";
    throw new UsageError(message);
  }
  if (isStored || webhooks.secretBy === "vendor") return undefined;
  if (webhooks.secretBy === "us") return makeSecret();
  const terminal = openTerminal(flags, io);
  if (terminal) return terminal.secret(`Secret of the app at ${service}, which signs all its webhooks (hidden)`);
  throw new MissingAnswer(`--secret, or ${variable},`, `the secret of the app at ${service}, which signs its webhooks`);
}

/** In this order, whatever ends the command can be continued: no webhook is made whose secret is not on disk. */
async function execute(registration: Registration, { vendor, flags, io }: RegisterCommand): Promise<void> {
  const { json } = flags;
  const { plan, hooks, steps, wanted, variable, secretFile, toStore, isStored, unfinished, envFile, actions } =
    registration;
  const { file } = plan;
  const { url } = wanted;
  const store = (secret: string): void => {
    if (variable !== undefined) setInEnvFile(envFile, variable, secret);
    else if (secretFile !== undefined) replaceFile(secretFile, `${secret}\n`);
    rmSync(unfinished, { force: true });
  };
  if (toStore !== undefined) store(toStore);
  writePlan(plan);
  try {
    // A file that cannot be replaced, a mounted one for example, fails before the sender makes a secret for it.
    const isMade = makesSecret(vendor, steps);
    if (isMade && secretFile !== undefined) replaceFile(secretFile, readFileSync(secretFile, "utf8"));
    if (isMade) replaceFile(unfinished, "", { mode: 0o600 });
    const { id, notes } = await runRegistration(steps, hooks, wanted, store);
    const isNewSecret = toStore !== undefined || isMade;
    const isSet = variable !== undefined && isNewSecret;
    // A service that runs follows its file with variables.
    const start = isSet && flags.envFile ? [describeStart(variable, path.relative(io.cwd, envFile))] : [];
    if (json) {
      return printJsonLine(io, { ok: true, file, written: true, url, id, actions, notes, start: start[0] });
    }
    if (plan.before !== plan.after) printWritten(plan, io);
    print(io, `${vendor.service} posts to ${url} (webhook ${showHookId(id)}).`, ...start);
    printWarnings(io, notes);
    if (isSet && isStored) {
      printWarnings(io, [`if ${variable} is set in the environment, it wins over ${envFile}: remove it there`]);
    }
  } catch (error) {
    io.exitCode = EXIT_CODES.failed;
    const message = messageOf(error);
    if (json) return printJsonLine(io, { ok: false, error: message, code: "sender", file, written: true });
    printError(io, message, "The configuration was written. Run the command again: it continues.");
  }
}

/** Removes the webhooks that post to the preset's address, at one place or at each. */
export async function unregisterPreset(command: RegisterCommand): Promise<string[]> {
  const { vendor, flags, io } = command;
  const plan = planChanges(readPlace(flags, io).target, [], { secretFiles: new Map() });
  const places = flags.place === undefined ? undefined : [flags.place];
  const senders = await openSenders(command, plan, { env: io.env, places });
  const found = (
    await Promise.all(senders.map(async (one) => (await one.hooks.find(one.url)).map((id) => ({ ...one, id }))))
  ).flat();
  if (!flags.json) {
    const none = `${vendor.service} has no webhook that posts to ${senders[0]?.url}.`;
    const isOne = senders.length === 1;
    const each = found.map(({ id, url, place }) => {
      const at = describePlace(vendor.service, isOne ? undefined : place);
      return `${at} delete the webhook ${showHookId(id)}, which posts to ${url}.`;
    });
    print(io, ...(found.length === 0 ? [none] : each));
  }
  if (flags.dryRun || found.length === 0) return [];
  if (!flags.yes) {
    const terminal = openTerminal(flags, io);
    if (!terminal) throw new MissingAnswer("--yes", "cannot ask whether to delete the webhook (--dry-run shows it)");
    if (!(await terminal.confirm("Delete it?"))) return [];
  }
  for (const { hooks, id } of found) await hooks.remove(id);
  return found.map(({ id }) => id);
}

/** The configuration and the file with its variables, which the command has read. */
function readPlace(flags: RegisterFlags, io: CliIo): { target: Target; envFile: string } {
  const file = locateNewConfig(flags.config, io);
  return { target: readTarget(file, io.env), envFile: locateEnvFile(flags, io) };
}

/** Where the webhook is to be: as it is given, or the one entry of the configuration that names a place. */
async function askPlace(
  { preset, flags, io }: RegisterCommand,
  use: WrittenUse | undefined,
  target: Target,
): Promise<string | undefined> {
  const registration = findRegistration(preset.folder);
  const given = flags.place ?? (typeof flags.register === "string" ? flags.register : undefined);
  const listed = use ? listPlaces(use) : [];
  if (given !== undefined || listed.length === 1) return given ?? listed[0];
  if (listed.length > 1) {
    if (isApp(preset, use, target)) return undefined;
    const chooser = openTerminal(flags, io);
    if (!chooser) throw new MissingAnswer("--place <place>", `one of ${listed.join(", ")}`);
    return chooser.choose({ message: "Where?", choices: listed.map((value) => ({ value, label: value })) });
  }
  if (!registration?.placeRequired) return undefined;
  const about = toText(registration.place?.["description"]);
  const terminal = openTerminal(flags, io);
  if (!terminal) throw new MissingAnswer("--register <place>", about);
  return terminal.text({ message: about });
}

/** Whether the sender's API is called as an app, which has one webhook for all places. */
function isApp({ name }: PresetPlace, use: WrittenUse | undefined, target: Target): boolean {
  const { account, apiToken } = use?.with ?? {};
  const channel = typeof account === "string" ? `${name}:${account}` : name;
  const block = toObject(readWritten(target, ["channels", channel]));
  return block["app"] !== undefined && block["token"] === undefined && apiToken === undefined;
}

/** The value of `place`: events of a place with a webhook must not be skipped. */
function addPlace(use: WrittenUse | undefined, place: string | undefined): unknown {
  const written = [use?.with["place"] ?? []].flat().map(toText);
  const isListed = place === undefined || written.includes(place) || compilePlaces(written)(place);
  if (isListed) return use?.with["place"] ?? place;
  return written.length === 0 ? place : [...written, place];
}

/** `variable` and `named`: the variable or the file that the configuration names; neither: it has the secret itself. */
function toSecretReference(
  use: WrittenUse | undefined,
  hook: string,
): { reference: unknown; variable?: string; named?: string } {
  const written = use?.with["secret"];
  if (written === undefined) {
    const variable = toSecretVariable(hook);
    return { reference: `\${${variable}}`, variable };
  }
  const [, variable, named] = /^\$\{(?:([A-Za-z_]\w*)|file:([^}]+))\}$/.exec(toText([written].flat()[0])) ?? [];
  return { reference: written, variable, named };
}

function toSecretVariable(hook: string): string {
  const name = hook.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
  return `${name.replace(/^(?=\d)/, "_")}_SECRET`;
}

/** Whether the sender will make a new secret. */
function makesSecret({ webhooks }: Registrar, { kind }: RegistrationPlan): boolean {
  return webhooks.secretBy === "vendor" && kind !== "update";
}

/** The secret that the sender makes could be put nowhere. */
function refuseLiteral({ use }: Sender, { service }: Registrar): ConfigError {
  const variable = toSecretVariable(toHook(use));
  const message = `${service} makes a new secret for the webhook, which cannot replace one that the configuration has itself. Write \${${variable}} there.`;
  return new ConfigError([{ file: use.file, key: `${use.key}.with.secret`, message }]);
}

/** The secret that the sender makes would replace that of the webhook at another place. */
function refuseSecond({ use, place = "" }: Sender, { service }: Registrar, file: string): ConfigError {
  const command = `${toCommand("presets enable", use.written)} --register ${toWord(place)} --path ${toHook(use)}-2`;
  const message = `${service} makes a secret for each webhook, and the stored one is that of another place. Use the preset once more: \`${command}\`.`;
  return new ConfigError([{ file, key: `${use.key}.with.secret`, message }]);
}

async function refuseOther({ hooks, url }: Sender, { service }: Registrar): Promise<void> {
  const other = await hooks.findOther?.(url);
  if (other === undefined) return;
  const shown = other.replace(/[?#].*/, "");
  const message = `${service} can have one webhook, and it posts to ${shown}. With --replace, it posts to ${url} instead.`;
  throw new ConfigError([{ message }]);
}

function describeSteps(steps: RegistrationPlan, { url, place }: Sender, { service }: Registrar): string[] {
  const at = describePlace(service, place);
  if (steps.kind === "create") return [`${at} create a webhook that posts to ${url}.`];
  if (steps.kind === "renew") {
    return [
      `${at} replace the webhook ${steps.ids.map(showHookId).join(", ")}, whose secret is not stored, by a new one that posts to ${url}.`,
    ];
  }
  return [
    `${at} set events and secret of the webhook ${showHookId(steps.id)} again, which posts to ${url}.`,
    ...steps.others.map((id) => `${at} delete the webhook ${showHookId(id)}, which posts there too.`),
  ];
}

function describePlace(service: string, place: string | undefined): string {
  return `At ${service}${place === undefined ? "" : ` (${place})`}:`;
}

function describeStart(variable: string, envFile: string): string {
  return `Start the service with \`${toCommand("serve --env-file", envFile)}\`, so that it reads ${variable}.`;
}
