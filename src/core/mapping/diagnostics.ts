import type { MappingSource } from "../config/resolved-config.ts";
import type { ConfigProblem } from "../errors.ts";

/** Collects problems and warnings about a mapping's keys, each given as a path below the mapping. */
export interface Diagnostics {
  /** A problem prevents the mapping from being used. */
  problem(key: string, message: string, excerpt?: string): void;
  warning(key: string, message: string): void;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
}

export function createDiagnostics({ file, key: mapping }: Pick<MappingSource, "file" | "key">): Diagnostics {
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  return {
    problem: (key, message, excerpt) => problems.push({ file, key: `${mapping}.${key}`, message, excerpt }),
    warning: (key, message) => warnings.push({ file, key: `${mapping}.${key}`, message }),
    problems,
    warnings,
  };
}
