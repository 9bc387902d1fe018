import { DriverError } from "../errors.ts";

/** A system that has no room for another process, or for its files, just now. */
const PASSING_START_ERRORS = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC"]);

/** Why a provider's program did not start. Of the error only the code is told: its message may quote the environment. */
export function toStartError(name: string, error: unknown): DriverError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  const kind = PASSING_START_ERRORS.has(code) ? "passing" : "lasting";
  return new DriverError(
    kind,
    `${name} could not be started (${code}): see agents.providers.${name}.command.`,
  );
}
