import { MailError } from "../../errors.ts";
import type { GmailApi } from "./gmail-api.ts";
import { readGoogleError } from "./google-error.ts";

const MOST_TRIES = 5;

/**
 * The same requests, but a mail that Gmail itself fails over, time after time, comes with its headers alone: it would keep all
 * others from coming. What failed is remembered across follows.
 */
export function withTries(api: GmailApi): GmailApi {
  const failures = new Map<string, number>();
  return {
    ...api,
    async message(id, form, signal) {
      if (form === "metadata") return api.message(id, form, signal);
      const failed = failures.get(id) ?? 0;
      if (failed >= MOST_TRIES) return api.message(id, "headers", signal);
      try {
        const message = await api.message(id, form, signal);
        failures.delete(id);
        return message;
      } catch (error) {
        if (isFault(error)) failures.set(id, failed + 1);
        throw error;
      }
    },
  };
}

function isFault(error: unknown): boolean {
  const { status = 0 } = readGoogleError(error instanceof MailError ? error.cause : undefined);
  return status >= 500;
}
