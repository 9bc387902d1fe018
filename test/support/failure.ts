import { DriverError } from "../../src/errors.ts";

/** The `DriverError` that a promise rejects with; anything else fails the test. */
export async function failureOf(promise: Promise<unknown>): Promise<DriverError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof DriverError) return error;
    throw error;
  }
  throw new Error("Expected a DriverError, but nothing failed.");
}
