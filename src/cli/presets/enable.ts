import { dirname, relative } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { type ConfigPlan, isDone, readTarget, type Target, writePlan } from "../../config/edit/plan.ts";
import { readConfigText } from "../../config/load.ts";
import { readPreset } from "../../config/presets/file.ts";
import { writeConnectSteps } from "../../config/presets/page.ts";
import { toParametersSchema } from "../../config/presets/parameters.ts";
import { createSecret, isSecretOption, planUse, requireUnused } from "../../config/presets/use.ts";
import { resolveReferences } from "../../config/references.ts";
import { trimSlashes } from "../../config/resolve.ts";
import { toSentence } from "../../errors.ts";
import { readOwn, toObject, toText } from "../../shared/json.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { confirmWrite, describeFailure, loadPlan, openTerminal, showChange } from "../change.ts";
import { UsageError } from "../command.ts";
import { locateNewConfig } from "../context.ts";
import { type CliIo, print, printError } from "../io.ts";
import { MissingAnswer, type Terminal } from "../terminal.ts";

export interface EnableFlags {
  config?: string;
  secret?: string;
  generate: boolean;
  path?: string;
  events?: string;
  with: Record<string, string>;
  yes: boolean;
  dryRun: boolean;
  json: boolean;
}

/** Adds a preset to the configuration with its secret in a file, and says what to set at the sender. */
export async function enablePreset(name: string, flags: EnableFlags, io: CliIo): Promise<void> {
  const terminal = openTerminal(flags, io);
  try {
    await enable(name, flags, { io, terminal });
  } catch (error) {
    describeFailure(error, flags, io);
  }
}

interface Person {
  io: CliIo;
  terminal: Terminal | undefined;
}

async function enable(name: string, flags: EnableFlags, person: Person): Promise<void> {
  const { io, terminal } = person;
  const target = readTarget(locateNewConfig(flags.config, io), io.env);
  requireUnused(target, name, flags.path);
  const url = toUrl(target, flags.path ?? name);
  // Some senders show their secret only when the hook is created there.
  terminal?.note(`URL: ${url}\n${writeConnectSteps(name, url)}`);

  const options = await askOptions(name, flags, person);
  const plan = planUse(target, { name, options });
  await loadPlan(plan, io.env, false);
  const change = showChange(plan);
  if (!flags.json) print(io, change);
  if (!flags.dryRun) {
    await confirmWrite(flags, terminal, plan.file);
    writePlan(plan);
  }
  const secretFile = [...plan.secretFiles.keys()].find((file) => file.endsWith("-secret"));
  const steps = writeConnectSteps(name, url, secretFile && relative(io.cwd, secretFile));
  await report(plan, { url, steps, change }, flags, io);
}

async function report(
  plan: ConfigPlan,
  { url, steps, change }: { url: string; steps: string; change: string },
  { json, dryRun }: EnableFlags,
  io: CliIo,
): Promise<void> {
  const { problems, warnings: found } = await readConfigText(plan.file, plan.after, {
    env: io.env,
    unwritten: plan.secretFiles,
  });
  const warnings = [...problems, ...found].map(toSentence);
  const secretFiles = [...plan.secretFiles.keys()];
  const written = !dryRun && isDone({ ...plan, before: plan.after });
  if (json) {
    const diff = stripVTControlCharacters(change);
    return print(io, JSON.stringify({ ok: true, file: plan.file, written, url, steps, secretFiles, diff, warnings }));
  }
  const secrets = secretFiles.map((file) => `  ${file} (a secret, readable only by your user)`);
  if (written) print(io, "Written:", `  ${plan.file}`, ...secrets);
  else print(io, "Nothing was written.");
  print(io, `URL: ${url}`, steps);
  printError(io, ...warnings.map((warning) => `warning: ${toPrintable(warning)}`));
}

/** The options for `with`. Missing ones are asked for. */
export async function askOptions(
  name: string,
  flags: Pick<EnableFlags, "path" | "events" | "with" | "secret" | "generate">,
  person: Person,
): Promise<Record<string, unknown>> {
  const { preset } = readPreset(name);
  const { properties } = toParametersSchema(preset);
  const events = flags.events?.split(",").map((event) => event.trim());
  const secret = "secret" in properties ? await askSecret(flags, person) : undefined;
  const options: Record<string, unknown> = { path: flags.path, secret, events, ...parseAll(flags.with) };
  const secrets = Object.keys(preset.parameters ?? {}).filter(isSecretOption);
  const { required = [] } = preset;
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
): Promise<string> {
  if (secret !== undefined && generate) throw new UsageError("Give either --secret or --generate, not both.");
  if (generate) return createSecret();
  if (secret !== undefined)
    return requireSecret(secret === "-" ? (await readAll(io.stdin)).replace(/\r?\n$/, "") : secret);
  if (!terminal) throw new MissingAnswer("--secret or --generate", "how the sender authenticates");
  const choice = await terminal.choose({
    message: "The secret that the sender signs with: where is it from?",
    choices: [
      { value: "text", label: "The sender shows it: type it here" },
      { value: "make", label: "Make one, to be entered at the sender" },
    ],
  });
  return choice === "make" ? createSecret() : terminal.secret("Secret (hidden)");
}

function requireSecret(secret: string): string {
  if (secret.trim() !== "") return secret;
  throw new UsageError("--secret must not be empty.");
}

/** `true`, `5` and `["a"]` are values; anything else is text. */
function parseAll(given: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, parse(value)]));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The hook's address as senders know it. */
export function toUrl({ file, written, env }: Pick<Target, "file" | "written" | "env">, hook: string): string {
  const { value } = resolveReferences(written, { env, baseDir: dirname(file) });
  const { publicUrl = "https://<your host>" } = toObject(readOwn(value, "gateway"));
  const { path = "hooks" } = toObject(readOwn(value, "hooks"));
  return `${String(publicUrl).replace(/\/+$/, "")}/${trimSlashes(String(path))}/${trimSlashes(hook)}`;
}
