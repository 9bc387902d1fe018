import type { Job } from "./job.ts";
import type { ModuleHead } from "./protocol.ts";

const IDLE_MS = 10 * 60_000;

/** Which modules a child holds, the one used longest ago first. */
export interface LoadedModules {
  /** Notes the use; true where the child does not hold the module yet. */
  use(module: string, now: number): boolean;
  count(): number;
  /** Modules that have to go: more than `maxModules`, or not used for long. The newest always stays. */
  takeSurplus(now: number): string[];
}

export function createLoadedModules(maxModules: number): LoadedModules {
  const usedAt = new Map<string, number>();
  return {
    use(module, now) {
      const isNew = !usedAt.delete(module);
      usedAt.set(module, now);
      return isNew;
    },
    count: () => usedAt.size,
    takeSurplus(now) {
      const surplus = [...usedAt].filter(
        ([, at], place) => at < now - IDLE_MS || place < usedAt.size - maxModules,
      );
      for (const [module] of surplus) usedAt.delete(module);
      return surplus.map(([module]) => module);
    },
  };
}

/** What a child has to know of a job's module. */
export function toModuleHead({ module, bundle: { spec } }: Job): ModuleHead {
  return {
    module,
    memoryMb: spec.memoryMb,
    strict: spec.isolation === "strict",
    ...(spec.export === undefined ? {} : { export: spec.export }),
  };
}
