import type { ErrorObject } from "ajv";

/** The type of ajv's compiled validators. */
export interface Validate {
  (value: unknown): unknown;
  errors?: ErrorObject[] | null;
}

export interface CompiledChecks {
  /** Finds a check by its name. */
  find?(name: string): Validate | undefined;
  /** Finds what the build knows of a text, see `build-facts.ts`. */
  findFacts?(name: string): object | undefined;
  /** Keeps it: in the build. */
  keepFacts?(name: string, facts: object): void;
}

/** The build replaces this file; a checkout compiles each check at its first use. */
export const compiledChecks: CompiledChecks = {};
