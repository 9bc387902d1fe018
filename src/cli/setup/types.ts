import type { Command } from "commander";
import { existsSync } from "node:fs";
import path from "node:path";
import { ConfigError, type ConfigProblem, toSentence } from "../../core/errors.ts";
import { toCommand } from "../../core/shared/text/command.ts";
import { addConfigOptions, type ConfigFlags } from "../command.ts";
import { loadConfig } from "../context.ts";
import { type CliIo, listFiles, print, printJson, printWarnings } from "../io.ts";
import { isCurrent, replaceIfOther, writeTypes } from "./editor-files.ts";
import { listTransformFolders, renderTypes, type TypedConfig, TYPES } from "./module-types.ts";

export function addTypes(program: Command, io: CliIo): void {
  addConfigOptions(program.command("types"), "print one JSON object: ok, written, kept")
    .description(
      `Write ${TYPES} beside the transforms: the channels and models of the configuration, and what each module gets; and compiler options, if there are none.`,
    )
    .action((flags: ConfigFlags) => writeAll(flags, io));
}

async function writeAll(flags: ConfigFlags, io: CliIo): Promise<void> {
  const { config, problems } = await loadConfig(flags.config, io);
  const folders = listTransformFolders(config);
  if (folders.length === 0) {
    const message = `There is no folder ${config.hooks.transformsDir}: \`${toCommand("transform new")} <name>\` writes a transform.`;
    throw new ConfigError([{ message }]);
  }
  printWarnings(io, problems.map(toSentence));
  const files = folders.map((folder) => writeTypes(folder, config));
  const written = files.flatMap((file) => file.written);
  const kept = files.flatMap((file) => file.kept);
  if (flags.json) return printJson(io, { ok: true, written, kept });
  if (written.length > 0) print(io, "Written:", ...listFiles(io, written));
  if (kept.length > 0) print(io, "Current:", ...listFiles(io, kept));
}

/** Writes the files that exist and are not current. Gives the absolute paths of those that were written. */
export function updateTypes(config: TypedConfig): string[] {
  return listStale(config).flatMap(([file, text]) => (replaceIfOther(file, text) ? file : []));
}

/** A warning for each file that exists and is not current. */
export function findStaleTypes(config: TypedConfig): ConfigProblem[] {
  const message = `These types are not those of the configuration. Run \`${toCommand("types")}\`.`;
  return listStale(config).map(([file]) => ({ file, message }));
}

/** Each file with the text that it should have. */
function listStale(config: TypedConfig): [file: string, text: string][] {
  return listTransformFolders(config)
    .map((folder): [string, string] => [path.join(folder, TYPES), renderTypes(folder, config)])
    .filter(([file, text]) => existsSync(file) && !isCurrent(file, text));
}
