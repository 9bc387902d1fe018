import { PROGRAM, toCommand, toWord } from "../../shared/text/command.ts";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { isObject, toObject } from "../../shared/json.ts";
import { listSampleNames } from "../../shared/system/samples.ts";
import { isBuiltIn, type PresetFile, type PresetPlace, readPreset, toTypeName } from "./file.ts";
import { listOwnSettings, takesPlace, toParametersSchema } from "./parameters.ts";

/**
 * The page of a preset as Markdown: its `page.md` with the lines that connect it, then events, options and example from its
 * data and samples. `use`: how a person names it.
 */
export function writePresetPage(place: string, use = place): string {
  const read = readPreset(place);
  const { name, description } = read.preset;
  const page = readPage(read)?.trim() ?? `# ${name}\n\n${description}`;
  const [start = "", ...sections] = page.split(/\n+(?=## )/);
  return `${[start, writeCommands(read, use), ...sections, ...writeEvents(read), ...writeOptions(read), ...writeReads(read), ...writeWrites(read), ...writeExample(read), ...writeSamples(read, use)].join("\n\n")}\n`;
}

/** undefined: a folder of one's own may have none. */
function readPage({ folder }: Pick<PresetFile, "folder">): string | undefined {
  const file = path.join(folder, "page.md");
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/**
 * Writes the steps at the sender: the section "Connect it" of a preset's page, with the hook's URL and, if there is
 * one, the file with the secret. Steps that make a secret or change the configuration are left out; the last one says what
 * replies at the place of an event need.
 */
export function writeConnectSteps({ name, folder, written }: PresetPlace, url: string, secretFile?: string): string {
  const page = readPage({ folder }) ?? "";
  const section = /^## Connect it\n+([^]*?)(?=^## )/m.exec(page)?.[1] ?? "";
  const variable = /secret: "\$\{(\w+)\}"/.exec(section)?.[1] ?? "";
  const steps = section
    // The text behind the list, which is not indented.
    .replace(/\n\n(?=[^\s\d])[^]*/, "")
    .split(/^(?=\d+\. )/m)
    .filter((step) => /^\d+\. (?!Make a .*openssl)/.test(step) && !step.includes("presets: ["))
    .concat(section === "" ? [] : writeReplySteps(readPreset(folder).preset, written))
    .map((step, index) => step.replace(/^\d+/, String(index + 1)).trimEnd())
    .join("\n")
    .replaceAll(`https://<your host>/hooks/${name}`, url)
    .replaceAll("the events below", `the events that \`${toCommand("presets show", written)}\` lists`);
  if (secretFile === undefined || variable === "") return steps;
  return steps
    .replaceAll(`\`${variable}\``, `\`${secretFile}\``)
    .replaceAll(`$${variable}`, () => `$(cat ${secretFile})`)
    .replaceAll("as above", `the content of \`${secretFile}\``);
}

/** One step, or none where the events of a preset have no place. */
function writeReplySteps(preset: PresetFile["preset"], written: string): string[] {
  const sources = [preset.common ?? {}, ...preset.mappings].map((mapping) => toObject(mapping["source"])["channel"]);
  const channel = sources.find((source) => typeof source === "string");
  if (channel === undefined) return [];
  const bounds = [
    takesPlace(preset) && "`place` says where its events may be.",
    preset.mention && "With `mention`, only messages that name the agent ask it.",
  ].filter(Boolean);
  const replies = `For replies where the event is, add \`channel: "source"\` to \`with\`, and configure \`channels.${channel}\`.`;
  return [`1. ${[replies, ...bounds].join(" ")} See \`${toCommand("presets show", written)}\`.`];
}

/** The commands from nothing to the first signed event. */
function writeCommands({ preset, folder }: PresetFile, use: string): string {
  const { name, registration, required = [] } = preset;
  const options = [
    ...(registration ? [registration.placeRequired === true ? "--register <place>" : "--register"] : []),
    ...required.filter((option) => option !== "secret").map((option) => `--with ${option}=<${option}>`),
  ].map((option) => ` ${option}`);
  const sample = preset.example ?? listSampleNames(path.join(folder, "samples"))[0];
  const isMailbox = name === "mail" && isBuiltIn(folder);
  const steps = [
    isMailbox ? "mail setup" : `presets enable ${use}${options.join("")}`,
    "check",
    "serve",
    ...(sample === undefined ? [] : [`send ${name} --sample ${sample}`]),
    isMailbox ? "events show --last" : `presets verify ${use}`,
  ];
  return ["```console", ...steps.map((step) => `${PROGRAM} ${step}`), "```"].join("\n");
}

function writeEvents({ preset: { events } }: PresetFile): string[] {
  if (!events) return [];
  const others = events.known.filter((event) => !events.default.includes(event));
  return [
    "## Events",
    `By default these lead to an action: ${toList(events.default)}.`,
    ...(others.length > 0 ? [`\`events\` can also name: ${toList(others)}; or a family, as \`x.*\`, or \`*\`.`] : []),
  ];
}

function toList(names: string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

function writeOptions({ preset }: PresetFile): string[] {
  const { properties } = toParametersSchema(preset);
  const settings = listOwnSettings(preset);
  const own = Object.entries(properties).filter(([name]) => !settings.some((setting) => setting === name));
  const rows = own.flatMap(([name, schema]) =>
    isObject(schema["properties"])
      ? Object.entries(schema["properties"]).map(([key, child]) => toRow(`${name}.${key}`, child, preset))
      : [toRow(name, schema, preset)],
  );
  return [
    "## Options",
    ["| Option | Default | Meaning |", "|---|---|---|", ...rows].join("\n"),
    `Like every preset, it also takes ${toList(settings)}, which replace its own values.`,
  ];
}

function toRow(name: string, schema: unknown, { events }: PresetFile["preset"]): string {
  const { default: usual, description = "" } = toObject(schema);
  const shown = usual === undefined || (events && name === "events") ? "" : toCell(usual);
  return `| \`${name}\` | ${shown} | ${String(description).replaceAll("|", "\\|")} |`;
}

function toCell(value: unknown): string {
  if (isObject(value)) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.includes("{{") || typeof value !== "string" ? `\`${text}\`` : text.replaceAll("|", "\\|");
}

function writeReads({ preset: { reads } }: PresetFile): string[] {
  if (!reads) return [];
  const { channel, calls } = reads;
  const credential =
    channel === undefined
      ? "`readToken` is the credential."
      : `The credential is that of \`channels.${channel}\`, or \`readToken\`.`;
  return [
    "## Context",
    `\`context\` can name what is read for the agent before it is asked. ${credential}`,
    Object.entries(calls)
      .map(([name, { title }]) => `- \`${name}\`: ${title.toLowerCase()}`)
      .join("\n"),
  ];
}

function writeWrites({ preset: { name, writes } }: PresetFile): string[] {
  if (!writes) return [];
  const rows = Object.entries(writes.calls).map(([call, { title, input = {}, permission }]) => {
    const filled = Object.entries(input).map(
      ([argument, { optional }]) => `\`${argument}\`${optional ? " (optional)" : ""}`,
    );
    return `| \`${name}.${call}\` | ${title} | ${filled.join(", ") || "–"} | ${permission} |`;
  });
  return [
    "## Calls",
    `\`grants\` can name what the agent may do at the place of the event, as in \`grants: { "${name}.${Object.keys(writes.calls)[0]}": "ask" }\`; [let an agent act](../guide/let-an-agent-act.md#what-a-preset-can-do) says how. The credential is that of \`channels.${writes.channel}\`.`,
    ["| Call | | The model fills | The token needs |", "|---|---|---|---|", ...rows].join("\n"),
  ];
}

/** The message of a sample that leads to an action. */
export function writeExample({ preset, folder }: PresetFile): string[] {
  const files = globSync(`samples/${preset.example ?? "*"}.expected.json`, { cwd: folder }).toSorted();
  const actions = files.flatMap((file) => {
    const value: unknown = JSON.parse(readFileSync(path.join(folder, file), "utf8"));
    return [isObject(value) ? value["actions"] : value].flat();
  });
  const [message] = actions.flatMap((action) => (isObject(action) ? (action["message"] ?? action["text"] ?? []) : []));
  if (typeof message !== "string") return [];
  return ["## Example", "What the agent gets, after the instructions:", `\`\`\`\`text\n${message}\n\`\`\`\``];
}

function writeSamples({ preset: { name }, folder }: PresetFile, use: string): string[] {
  const samples = listSampleNames(path.join(folder, "samples"));
  const type = isBuiltIn(folder)
    ? `the type \`${toTypeName(name)}\` of \`hookline/presets\``
    : "a type from its samples";
  const send = `\`${toCommand("send", name)} --sample ${toWord(samples[0] ?? "")}\` posts a sample to the running service, as the sender would. The samples: ${toList(samples)}.`;
  return [
    "## Try it, and write your own code",
    ...(samples.length > 0 ? [send] : []),
    `\`${toCommand("transform new mine --preset", use)}\` writes a transform that gets this preset's action, with ${type} for its payloads.`,
  ];
}
