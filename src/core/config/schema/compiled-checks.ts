import type { ErrorObject } from "ajv";

/** The type of ajv's compiled validators. */
export interface Validate {
  (value: unknown): unknown;
  errors?: ErrorObject[] | null;
}

/** Finds a check by its name. The build replaces this file; a checkout compiles each check at its first use. */
export const compiledChecks: { find?(name: string): Validate | undefined } = {};
