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

/** Each call evaluates its module anew, so a large one makes all of them slow. One problem for a package and all who import it. */
export function findLargeModules(costs: ModuleCost[]): ConfigProblem[] {
  const large = costs.filter(({ bytes }) => bytes > MAX_BYTES);
  const byPackage = Map.groupBy(large, ({ file, packages: [largest] }) => largest?.name ?? file);
  return Array.from(byPackage.values(), ([first, ...others]) => {
    const { file, bytes, packages } = first!;
    const most = packages[0] ? `, of which "${packages[0].name}" has ${toKb(packages[0].bytes)}` : "";
    const modules = others.length === 1 ? "module" : "modules";
    const also = others.length > 0 ? ` The same is true of ${others.length} other ${modules}.` : "";
    const message = `Each call loads ${toKb(bytes)} of ${path.basename(file)} and its imports${most}. Import less of it, or a smaller package.${also}`;
    return { message, file };
  });
}

function toKb(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KB`;
}
