import type { ErrorObject } from "ajv";

/** The type of ajv's compiled validators. */
export interface Validate {
  (value: unknown): unknown;
  errors?: ErrorObject[] | null;
}

/** The checks by the package's own schemas. The build replaces this file; a checkout compiles them at the first use. */
export const compiledChecks: Partial<
  Record<"config" | "mapping" | "preset" | "wake" | "agent" | "action", () => Validate>
> = {};
