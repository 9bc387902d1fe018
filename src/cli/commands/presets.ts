import type { Command } from "commander";
import { findPresets, readPreset, requirePreset } from "../../config/presets/file.ts";
import { writePresetPage } from "../../config/presets/page.ts";
import { runChange } from "../change.ts";
import { addPair, addWriteOptions, CONFIG_HELP } from "../command.ts";
import { formatTable } from "../format.ts";
import { type CliIo, print, printJson } from "../io.ts";
import { type CopyFlags, copyPreset } from "../presets/copy.ts";
import { type EnableFlags, enablePreset } from "../presets/enable.ts";

export function addPresets(program: Command, io: CliIo): void {
  const presets = program.command("presets").description("Show and enable presets, for senders that need no mapping.");
  presets
    .command("list")
    .description("List the presets.")
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) => {
      const found = findPresets().map((name) => ({ name, description: readPreset(name).preset.description }));
      if (json) return printJson(io, found);
      const rows = found.map(({ name, description }) => [name, description]);
      print(io, ...formatTable(["preset", "what it does"], rows));
    });
  presets
    .command("show")
    .description("Show a preset's page: what to set at the sender, events, options and an example.")
    .argument("<name>", "name of the preset")
    .option("--json", "print the preset itself, as JSON", false)
    .action((name: string, { json }: { json: boolean }) => {
      if (json) printJson(io, readPreset(requirePreset(name)).preset);
      else print(io, writePresetPage(requirePreset(name)).trimEnd());
    });
  const enable = presets.command("enable").argument("<name>", "name of the preset");
  addWriteOptions(enable)
    .description("Add a preset to the configuration, store its secret, and say what to set at the sender.")
    .option("--config <file>", `${CONFIG_HELP}; created if missing`)
    .option("--secret <secret>", "the sender's secret; - for standard input, or a reference such as ${GITHUB_SECRET}")
    .option("--generate", "make a secret", false)
    .option("--path <hook>", "the hook's name (default: the preset's)")
    .option("--events <names>", "the events that lead to an action, separated by commas")
    .option("--with <name=value>", "another option of the preset; may be repeated", addPair("="), {})
    .action((name: string, flags: EnableFlags) =>
      runChange(flags, io, () => enablePreset(requirePreset(name), flags, io)),
    );
  presets
    .command("copy")
    .description("Replace a preset by its mappings, templates and samples, as your own to change.")
    .argument("<name>", "name of the preset")
    .option("--config <file>", CONFIG_HELP)
    .option("--path <hook>", "the hook's name, if the preset is used for several")
    .option("--print", "show the mappings and write nothing", false)
    .option("--json", "print one JSON object", false)
    .action((name: string, flags: CopyFlags) => copyPreset(requirePreset(name), flags, io));
}
