import { DriverError, messageOf } from "../errors.ts";

/** The `DriverError` that a promise rejects with; throws where it resolves, or rejects with anything else. */
export async function failureOf(promise: Promise<unknown>): Promise<DriverError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof DriverError) return error;
    throw new Error(`Expected a DriverError, not: ${messageOf(error)}`, { cause: error });
  }
  throw new Error("Expected a DriverError, but nothing failed.");
}
