import path from "node:path";
import type { ConfigProblem } from "../../core/errors.ts";
import type { CompiledMapping } from "../../core/mapping/compile.ts";
import type { ModuleCost, TransformRunner } from "../../core/transforms/runner.ts";

const MAX_PACKAGES = 5;

/** Lists the modules of the mappings, each with the bytes and the time that its calls take to load it. */
export function findCosts(mappings: CompiledMapping[], runner: TransformRunner): ModuleCost[] {
  const costs = new Map<string, ModuleCost>();
  for (const { bundle } of mappings) {
    if (!bundle) continue;
    const { bytes, packages, spec } = bundle;
    const loadMs = runner.loadMs(bundle);
    costs.set(spec.file, { file: spec.file, bytes, loadMs, packages: packages.slice(0, MAX_PACKAGES) });
  }
  return [...costs.values()].toSorted((one, other) => other.bytes - one.bytes);
}

const MAX_BYTES = 300 * 1024;

/** Each call evaluates its module anew, so a large one makes all of them slow. */
export function findLargeModules(costs: ModuleCost[]): ConfigProblem[] {
  return costs
    .filter(({ bytes }) => bytes > MAX_BYTES)
    .map(({ file, bytes, packages: [largest] }) => {
      const kb = (size: number): string => `${Math.ceil(size / 1024)} KB`;
      const most = largest ? `, of which "${largest.name}" has ${kb(largest.bytes)}` : "";
      const message = `Each call loads ${kb(bytes)} of ${path.basename(file)} and its imports${most}. Import less of it, or a smaller package.`;
      return { message, file };
    });
}
