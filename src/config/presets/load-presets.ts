import { didYouMean } from "../did-you-mean.ts";
import { expandPreset, type Expansion } from "./expand-preset.ts";
import { error, type Finding } from "../finding.ts";
import { isWithin } from "../key-path.ts";
import type { Source } from "../parse.ts";
import { listPresets, readPreset } from "./read-preset.ts";
import type { PresetUse, ResolvedConfig } from "../resolved.ts";

/** The mappings that the presets in use add, in their order, and what is wrong with them. */
export interface LoadedPresets extends Expansion {
  /** The presets' files, by absolute path. */
  sources: Map<string, Source>;
}

/** Reads and fills in the presets that a configuration uses, out of the folder `root`. */
export function loadPresets({ presets, mail }: ResolvedConfig["hooks"], root: string): LoadedPresets {
  const known = listPresets(root);
  const loaded: LoadedPresets = { mappings: [], findings: [], origins: [], sources: new Map() };
  for (const [index, use] of presets.entries()) {
    const refused = checkUse(use, presets.slice(0, index), known);
    loaded.findings.push(...refused);
    if (refused.length > 0) continue;

    const presetFile = readPreset(root, use.name);
    const { mappings, findings, origins } = expandPreset(presetFile, use, mail);
    loaded.mappings.push(...mappings);
    loaded.findings.push(...findings);
    loaded.origins.push(...origins);
    loaded.sources.set(presetFile.file, presetFile.source);
  }
  return loaded;
}

/** What is said about a value that the configuration gave a preset belongs to the configuration. */
export function toOrigin<Said extends { file?: string; key?: string }>(
  said: Said,
  origins: Expansion["origins"],
): Said {
  const from = origins.find(({ file, key }) => file === said.file && isWithin(said.key ?? "", key));
  return from ? { ...said, key: from.origin, file: undefined } : said;
}

function checkUse({ name, key }: PresetUse, earlier: PresetUse[], known: string[]): Finding[] {
  if (!known.includes(name)) {
    const list = known.join(", ");
    return [error(key, `there is no preset "${name}" among ${list}${didYouMean(name, known, "")}`)];
  }
  const first = earlier.find((use) => use.name === name);
  return first ? [error(key, `the preset "${name}" is used already at ${first.key}`)] : [];
}
