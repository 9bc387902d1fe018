import path from "node:path";
import { editConfig } from "../../config/edit/edit-config.ts";
import { readTarget, requireNew, writePlan } from "../../config/edit/plan.ts";
import { readConfigText } from "../../config/load.ts";
import { planCopy } from "../../config/presets/copy.ts";
import { ConfigError, toSentence } from "../../errors.ts";
import { locateConfig } from "../context.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printError, printJson } from "../io.ts";

export interface CopyFlags {
  config?: string;
  path?: string;
  print: boolean;
  json: boolean;
}

/** Replaces a preset by its mappings, templates and samples in the user's own files, and says which. */
export async function copyPreset(name: string, flags: CopyFlags, io: CliIo): Promise<void> {
  const target = readTarget(locateConfig(flags.config, io), io.env);
  const before = await readConfigText(target.file, target.text ?? "", { env: io.env });
  const { plan, hook, mappings, replaces } = planCopy(target, before.config, { name, hook: flags.path });
  requireNew(plan);
  const after = await readConfigText(plan.file, plan.after, { env: io.env, unwritten: plan.newFiles });
  const known = before.problems.map(({ message }) => message);
  const problems = after.problems.filter(({ message }) => !known.includes(message));
  if (problems.length > 0) throw new ConfigError(problems);
  const shown = editConfig(plan.file, "", [{ kind: "set", path: ["hooks", "mappings"], value: mappings }]);
  if (!flags.print) writePlan(plan);

  const files = [...(plan.newFiles?.keys() ?? [])];
  const warnings = after.warnings.map(toSentence);
  if (flags.json) {
    return printJson(io, {
      ok: true,
      file: plan.file,
      written: !flags.print,
      hook,
      replaces,
      mappings,
      files,
      warnings,
    });
  }
  if (flags.print) return print(io, shown.trimEnd());
  const place = path.relative(io.cwd, plan.file);
  const removed = replaces ? `; the use of the preset "${name}" is removed` : "";
  print(
    io,
    `${place}: ${formatCount(mappings.length, "mapping")} added to hooks.mappings${removed}`,
    ...files.filter((file) => !file.includes(".samples")).map((file) => `  ${path.relative(io.cwd, file)}`),
    `  ${formatCount(files.filter((file) => file.includes(".samples")).length, "file")} of samples, which this runs:`,
    `  webhooks test ${hook}`,
  );
  if (!mappings.some((mapping) => mapping["auth"])) {
    print(io, "Its requests need the hook token: set auth on the mappings if the sender signs.");
  }
  printError(io, ...warnings.map((warning) => `warning: ${warning}`));
}
