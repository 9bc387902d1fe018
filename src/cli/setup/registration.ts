import { existsSync } from "node:fs";
import path from "node:path";
import { text as readAll } from "node:stream/consumers";
import { setInEnvFile, withEnvFile } from "../../config/env-file.ts";
import {
  createPresetSecret,
  findUses,
  isReference,
  planChanges,
  planUse,
  readTarget,
  type ConfigPlan,
  type Target,
  type WrittenUse,
  writePlan,
} from "../../config/edit/plan.ts";
import { type ApiAccess, listEvents, toApiAccess, toHookUrl } from "../../config/presets/api-access.ts";
import { findRegistration, readPreset } from "../../config/presets/file.ts";
import { readAuth } from "../../config/presets/parameters.ts";
import type { PresetUse, ResolvedConfig } from "../../config/types.ts";
import { readConfigText } from "../../drivers.ts";
import { ConfigError, messageOf } from "../../errors.ts";
import { type HookApi, type Vendor, type WantedHook } from "../../registration/hook-api.ts";
import { showHookId } from "../../registration/subscriptions.ts";
import { planRegistration, type RegistrationPlan, runRegistration } from "../../registration/register.ts";
import { toText } from "../../shared/json.ts";
import { EXIT_CODES, UsageError } from "../command.ts";
import { locateNewConfig } from "../context.ts";
import { type CliIo, print, printError, printJsonLine, printWarnings } from "../io.ts";
import {
  confirmWrite,
  loadPlan,
  openTerminal,
  plainChange,
  printWritten,
  showChange,
  type WriteFlags,
} from "./change.ts";
import { MissingAnswer, type Terminal } from "./terminal.ts";

export interface RegisterFlags extends WriteFlags {
  config?: string;
  envFile?: string;
  path?: string;
  /** Where the webhook is, if it is given. */
  register?: string | boolean;
  /** That of the sender's app; - for standard input. */
  secret?: string;
  token?: string;
  replace: boolean;
}

/** A preset's use with the API of its sender. */
interface Sender {
  vendor: Vendor;
  use: PresetUse;
  hooks: HookApi;
  url: string;
}

const CALLS_MS = 60_000;

/** Adds the preset to the configuration if it is not there, and registers its webhook at the sender. */
export async function registerPreset(
  name: string,
  { vendor, options }: { vendor: Vendor; options: Record<string, unknown> },
  flags: RegisterFlags,
  io: CliIo,
): Promise<void> {
  const terminal = openTerminal(flags, io);
  const registration = await prepare(name, { vendor, options, flags, io, terminal });
  const { plan, actions, sender } = registration;
  if (!flags.json) print(io, ...(plan.before === plan.after ? [] : [showChange(plan)]), ...actions);
  if (flags.dryRun) {
    if (!flags.json) return print(io, "Nothing was written.");
    return printJsonLine(io, { ok: true, written: false, url: sender.url, actions, diff: plainChange(plan) });
  }
  await confirmWrite(flags.yes, terminal, plan.file);
  await execute(registration, flags, io);
}

interface Registration {
  plan: ConfigPlan;
  sender: Sender;
  steps: RegistrationPlan;
  wanted: WantedHook;
  /** The environment variable with the secret; undefined: the configuration has the secret itself, or a file. */
  variable: string | undefined;
  /** A secret that has to be stored first: a new one of our own, or that of the sender's app. */
  toStore: string | undefined;
  isStored: boolean;
  envFile: string;
  /** What will be done, in a sentence each. */
  actions: string[];
}

/** Reads what there is, here and at the sender, and changes nothing. */
async function prepare(
  name: string,
  {
    vendor,
    options,
    flags,
    io,
    terminal,
  }: Omit<OpenOptions, "env" | "flags"> & { options: object; flags: RegisterFlags },
): Promise<Registration> {
  const { target, envFile } = readPlace(flags, io);
  const written = findUses(target, name).find(({ hook }) => hook === (flags.path ?? name));
  const place = await askPlace(name, flags, written, terminal);
  const { reference, variable } = toSecretReference(written, flags.path ?? name);
  // A secret that the configuration has itself stays there.
  const secret = variable === undefined ? undefined : reference;
  const plan = planUse(target, { name, options: { path: flags.path, ...options, place, secret }, use: written });
  const isStored = variable === undefined || Boolean(io.env[variable]);
  const toStore = await getSecret(name, { vendor, variable, isStored, flags, io, terminal });
  // The sender's own secret is not known yet.
  const unknown = isStored ? undefined : newSecret(name);
  const env = variable === undefined ? io.env : { ...io.env, [variable]: toStore ?? unknown ?? io.env[variable] };
  await loadPlan(plan, { ...io, env });

  const sender = await openSender(name, plan, { vendor, flags, env, io, terminal });
  const { hooks, url, use } = sender;
  const found = await hooks.find(url);
  if (found.length === 0) await refuseOther(sender, flags);
  const steps = planRegistration(vendor, found, isStored);
  const ours = vendor.secretBy === "us" ? toText([use.with["secret"]].flat()[0]) : undefined;
  const what = vendor.secretBy === "app" ? "the app's secret" : "a new secret";
  const toSet = toStore === undefined ? [] : [`In ${path.relative(io.cwd, envFile)}: set ${variable} to ${what}.`];
  return {
    plan,
    sender,
    steps,
    wanted: { url, secret: ours, events: listEvents(use) },
    variable,
    toStore,
    isStored,
    envFile,
    actions: [...describeSteps(steps, sender), ...toSet],
  };
}

/** The secret that has to be stored before a webhook is made; undefined: there is one, or the sender makes it. */
async function getSecret(
  name: string,
  {
    vendor,
    variable,
    isStored,
    flags,
    io,
    terminal,
  }: Pick<Registration, "variable" | "isStored"> & Omit<OpenOptions, "env" | "flags"> & { flags: RegisterFlags },
): Promise<string | undefined> {
  const { secretBy, service } = vendor;
  if (flags.secret !== undefined) {
    const given = flags.secret === "-" ? (await readAll(io.stdin)).replace(/\r?\n$/, "") : flags.secret;
    const isText = given.trim() !== "" && !isReference(given);
    if (isText && variable !== undefined) return given;
    const message = isText
      ? "The configuration has the secret itself, or a file with it: change it there, not with --secret."
      : "--secret must be the secret itself with --register. It goes to the file of --env-file.";
    throw new UsageError(message);
  }
  if (isStored || secretBy === "vendor") return undefined;
  if (secretBy === "us") return newSecret(name);
  if (terminal) return terminal.secret(`Secret of the app at ${service}, which signs all its webhooks (hidden)`);
  throw new MissingAnswer(`--secret, or ${variable},`, `the secret of the app at ${service}, which signs its webhooks`);
}

function newSecret(name: string): string {
  return createPresetSecret(name, readAuth(readPreset(name).preset, {}).scheme);
}

/** In this order, whatever ends the command can be continued: no webhook is made whose secret is not on disk. */
async function execute(registration: Registration, { json }: RegisterFlags, io: CliIo): Promise<void> {
  const { plan, sender, steps, wanted, variable, toStore, isStored, envFile, actions } = registration;
  const { vendor, hooks, url } = sender;
  const store = (secret: string): void => void (variable !== undefined && setInEnvFile(envFile, variable, secret));
  if (toStore !== undefined) store(toStore);
  writePlan(plan);
  try {
    const { id, notes } = await runRegistration(steps, hooks, wanted, store);
    const isByVendor = vendor.secretBy === "vendor" && steps.kind !== "update";
    const restart = toStore !== undefined || isByVendor ? toRestart(variable, envFile, io) : [];
    if (json)
      return printJsonLine(io, {
        ok: true,
        file: plan.file,
        written: true,
        url,
        id,
        actions,
        notes,
        restart: restart[0],
      });
    if (plan.before !== plan.after) printWritten(plan, io);
    print(io, `${vendor.service} posts to ${url} (webhook ${showHookId(id)}).`, ...restart);
    printWarnings(io, notes);
    if ((isByVendor || toStore !== undefined) && isStored && variable !== undefined) {
      printWarnings(io, [`if ${variable} is set in the environment, it wins over ${envFile}: remove it there`]);
    }
  } catch (error) {
    io.exitCode = EXIT_CODES.failed;
    const message = messageOf(error);
    if (json) return printJsonLine(io, { ok: false, error: message, code: "sender", file: plan.file, written: true });
    printError(io, message, "The configuration was written. Run the command again: it continues.");
  }
}

/** Removes the webhooks that post to the preset's address. */
export async function unregisterPreset(
  name: string,
  vendor: Vendor,
  flags: RegisterFlags,
  io: CliIo,
): Promise<string[]> {
  const terminal = openTerminal(flags, io);
  const { target } = readPlace(flags, io);
  const use = findUses(target, name).find(({ hook }) => hook === (flags.path ?? name));
  if (!use) {
    throw new ConfigError([
      { file: target.file, message: `The preset "${name}" is not used for this hook. Name it with --path.` },
    ]);
  }
  const plan = planChanges(target, [], { secretFiles: new Map() });
  const { hooks, url } = await openSender(name, plan, { vendor, flags, env: io.env, io, terminal });
  const found = await hooks.find(url);
  if (!flags.json) {
    const none = `${vendor.service} has no webhook that posts to ${url}.`;
    print(
      io,
      ...(found.length === 0
        ? [none]
        : found.map((id) => `At ${vendor.service}: delete the webhook ${showHookId(id)}, which posts to ${url}.`)),
    );
  }
  if (flags.dryRun || found.length === 0) return [];
  if (!flags.yes) {
    if (!terminal) throw new MissingAnswer("--yes", "cannot ask whether to delete the webhook (--dry-run shows it)");
    if (!(await terminal.confirm("Delete it?"))) return [];
  }
  for (const id of found) await hooks.remove(id);
  return found;
}

/** The configuration and the file with its variables, which the command has read. */
function readPlace(flags: RegisterFlags, io: CliIo): { target: Target; envFile: string } {
  const file = locateNewConfig(flags.config, io);
  const envFile = path.resolve(io.cwd, flags.envFile ?? path.join(path.dirname(file), ".env"));
  if (existsSync(envFile)) io.env = withEnvFile(io.env, envFile);
  return { target: readTarget(file, io.env), envFile };
}

async function askPlace(
  name: string,
  { register }: RegisterFlags,
  use: WrittenUse | undefined,
  terminal: Terminal | undefined,
): Promise<unknown> {
  const registration = findRegistration(name);
  const given = typeof register === "string" ? register : use?.with["place"];
  if (given !== undefined || !registration?.placeRequired) return given;
  const about = toText(registration.place?.["description"]);
  if (!terminal) throw new MissingAnswer("--register <place>", about);
  return terminal.text({ message: about });
}

/** `variable`: what the configuration names; undefined: it has the secret itself, or a file. */
function toSecretReference(use: WrittenUse | undefined, hook: string): { reference: unknown; variable?: string } {
  const written = use?.with["secret"];
  if (written === undefined) {
    const variable = `${hook
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, "_")
      .replace(/^(?=\d)/, "_")}_SECRET`;
    return { reference: `\${${variable}}`, variable };
  }
  const [current] = [written].flat();
  return { reference: written, variable: /^\$\{([A-Za-z_]\w*)\}$/.exec(toText(current))?.[1] };
}

interface OpenOptions {
  vendor: Vendor;
  flags: Pick<RegisterFlags, "path" | "token">;
  env: NodeJS.ProcessEnv;
  io: CliIo;
  terminal: Terminal | undefined;
}

/** Opens the sender's API with the stored token, that of the command line or the environment, or one that is asked for. */
async function openSender(
  name: string,
  { file, after, secretFiles }: Pick<ConfigPlan, "file" | "after" | "secretFiles">,
  { vendor, flags, env, io, terminal }: OpenOptions,
): Promise<Sender> {
  const { config } = await readConfigText(file, after, { env, unwritten: secretFiles });
  const use = config.hooks.presets.find(
    (one) => one.name === name && (one.with["path"] ?? name) === (flags.path ?? name),
  );
  if (!use)
    throw new ConfigError([{ file, message: `The preset "${name}" is not used for this hook. Name it with --path.` }]);
  const access = toApiAccess(use, config);
  const token = await findToken(vendor, access, { flags, io, terminal });
  return {
    vendor,
    use,
    url: requireUrl(use, config),
    hooks: connectSender(vendor, access, token, AbortSignal.timeout(CALLS_MS)),
  };
}

export function connectSender(
  vendor: Vendor,
  { baseUrl, place, account }: ApiAccess,
  token: string,
  signal: AbortSignal,
): HookApi {
  return vendor.connect({ token, baseUrl, place, account, signal });
}

/** A stored token whose variable is not set counts as none. Empty: a GitHub App signs its own. */
async function findToken(
  { service, tokenVariables, tokenNeeds }: Vendor,
  { token, account }: ApiAccess,
  { flags, io, terminal }: Pick<OpenOptions, "flags" | "io" | "terminal">,
): Promise<string> {
  const variable = tokenVariables.find((known) => io.env[known]);
  const found = flags.token ?? (isReference(token) ? undefined : token);
  if (found !== undefined) return found;
  if (account["app"] !== undefined && account["token"] === undefined) return "";
  if (variable !== undefined) return io.env[variable] ?? "";
  const needs = `The token needs ${tokenNeeds}. It is not stored.`;
  if (terminal) return terminal.secret(`Token of ${service}'s API (hidden). ${needs}`);
  throw new MissingAnswer(`--token, or ${tokenVariables[0]},`, needs);
}

export function requireUrl(use: PresetUse, config: ResolvedConfig): string {
  const url = toHookUrl(use, config);
  if (url !== undefined) return url;
  const message = "The sender must know a public address. Set it, such as https://hooks.example.com.";
  throw new ConfigError([{ key: "gateway.publicUrl", message }]);
}

async function refuseOther({ vendor, hooks, url }: Sender, { replace }: RegisterFlags): Promise<void> {
  const other = await hooks.findOther?.(url);
  if (other === undefined || replace) return;
  const shown = other.replace(/[?#].*/, "");
  const message = `${vendor.service} can have one webhook, and it posts to ${shown}. With --replace, it posts to ${url} instead.`;
  throw new ConfigError([{ message }]);
}

function describeSteps(steps: RegistrationPlan, { vendor, url, use }: Sender): string[] {
  const place = use.with["place"] === undefined ? "" : ` (${toText(use.with["place"])})`;
  const at = `At ${vendor.service}${place}:`;
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

function toRestart(variable: string | undefined, envFile: string, { cwd }: CliIo): string[] {
  if (variable === undefined) return [];
  const start = `webhooks serve --env-file ${path.relative(cwd, envFile)}`;
  return [
    `Restart the service, so that it reads ${variable}: \`${start}\`. \`webhooks dev\` reads .env beside the configuration.`,
  ];
}
