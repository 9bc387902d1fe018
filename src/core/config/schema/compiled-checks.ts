import type { ErrorObject } from "ajv";

/** The type of ajv's compiled validators. */
export interface Validate {
  (value: unknown): unknown;
  errors?: ErrorObject[] | null;
}

export interface CompiledChecks {
  /** Finds a check by its name. */
  find?(name: string): Validate | undefined;
  /** Whether the build has tried the schema with this name, a `match.where` of a preset. */
  isTried?(name: string): boolean;
}

/** The build replaces this file; a checkout compiles each check at its first use. */
export const compiledChecks: CompiledChecks = {};
