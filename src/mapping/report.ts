import type { OnBacktracking } from "../config/schema/linear-regexp.ts";
import type { MappingSource } from "../config/types.ts";
import type { ConfigProblem } from "../errors.ts";

/** Collects problems and warnings about a mapping's keys, each given as a path below the mapping. */
export interface Report {
  /** A problem prevents the mapping from being used. */
  problem(key: string, message: string, excerpt?: string): void;
  warning(key: string, message: string): void;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
}

export function createReport({ file, key: mapping }: MappingSource): Report {
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  return {
    problem: (key, message, excerpt) => problems.push({ file, key: `${mapping}.${key}`, message, excerpt }),
    warning: (key, message) => warnings.push({ file, key: `${mapping}.${key}`, message }),
    problems,
    warnings,
  };
}

/** Warns about each regular expression under the key that a crafted request can make backtrack without end. */
export function reportBacktracking(report: Report, key: string): OnBacktracking {
  return (expression, reason) =>
    report.warning(
      key,
      `The regular expression ${expression} cannot run in linear time: ${reason}. A crafted request can make it run for minutes ` +
        "and block the whole service. Avoid look-around, back references and counts over 1000 (maxLength limits a whole text).",
    );
}
