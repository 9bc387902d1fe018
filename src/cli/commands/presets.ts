import type { Command } from "commander";
import { findPresets, readPreset } from "../../config/presets/file.ts";
import { writePresetPage } from "../../config/presets/page.ts";
import { didYouMean } from "../../config/schema/problems.ts";
import { ConfigError } from "../../errors.ts";
import { formatTable } from "../format.ts";
import { type CliIo, print } from "../io.ts";

export function addPresets(program: Command, io: CliIo): void {
  const presets = program.command("presets").description("The senders that need no mapping of your own.");
  presets
    .command("list")
    .description("List the presets.")
    .action(() => {
      const rows = findPresets().map((name) => [name, readPreset(name).preset.description]);
      print(io, ...formatTable(["preset", "what it does"], rows));
    });
  presets
    .command("show")
    .description("Show a preset's page: what to set at the sender, events, options and an example.")
    .argument("<name>", "name of the preset")
    .action((name: string) => print(io, writePresetPage(requirePreset(name)).trimEnd()));
}

function requirePreset(name: string): string {
  const known = findPresets();
  if (known.includes(name)) return name;
  throw new ConfigError([{ message: `There is no preset "${name}"${didYouMean(name, known)}` }]);
}
