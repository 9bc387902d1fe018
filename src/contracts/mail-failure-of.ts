import { MailError, messageOf } from "../errors.ts";

/** The `MailError` that a promise rejects with; throws where it resolves, or rejects with anything else. */
export async function mailFailureOf(promise: Promise<unknown>): Promise<MailError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof MailError) return error;
    throw new Error(`Expected a MailError, not: ${messageOf(error)}`, { cause: error });
  }
  throw new Error("Expected a MailError, but nothing failed.");
}
