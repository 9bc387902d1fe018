import { DriverError } from "../errors.ts";
import { AcpLoss } from "./acp-loss.ts";
import { withoutSecrets } from "./without-secrets.ts";
import { toStartError } from "./start-error.ts";

/** JSON-RPC: the agent failed, at what nobody knows. */
const INTERNAL_ERROR = -32603;

/** The protocol's own: nobody has logged in. */
const AUTHENTICATION_REQUIRED = -32000;

const LONGEST_COMPLAINT = 300;

/** Sorts what went wrong between the service and an agent of the Agent Client Protocol. */
export function toAcpError(
  error: unknown,
  { name, secrets }: { name: string; secrets: string[] },
): DriverError {
  if (error instanceof DriverError) return error;
  const words = error instanceof Error ? withoutSecrets(error.message, secrets) : "";
  if (error instanceof AcpLoss) {
    const lost = `${name} was lost before it replied`;
    return new DriverError("passing", words ? `${lost}: ${words.slice(-LONGEST_COMPLAINT)}` : `${lost}.`);
  }
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (typeof code === "string") return toStartError(name, error);
  if (code === AUTHENTICATION_REQUIRED) {
    return new DriverError(
      "lasting",
      `${name} wants a login: log in with the program itself, or give it a key in agents.providers.${name}.env.`,
    );
  }
  const kind = code === INTERNAL_ERROR ? "passing" : "lasting";
  return new DriverError(kind, `${name} failed: ${words.slice(0, LONGEST_COMPLAINT)}`);
}
