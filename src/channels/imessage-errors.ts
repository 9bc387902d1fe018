import { isObject } from "../config/is-object.ts";
import { DriverError } from "../errors.ts";

/** Refusals that say nothing against the message: https://github.com/openclaw/imsg/blob/main/docs/rpc.md */
const PASSING_CODES = new Set([
  -32_000, // busy
  -32_002, // the database of Messages is out of reach
  -32_004, // an earlier message is still in flight
  -32_603, // anything unforeseen, a permission that is missing among them
]);

const ADVICE = new Map<unknown, string>([
  // imsg asks not to try these again: nobody knows whether they went out.
  [-32_001, "It may have been sent: look into Messages before you retry it."],
  [-32_002, "Give the program that runs imsg Full Disk Access."],
  [-32_601, "This imsg cannot send: it can on macOS only."],
  [-32_602, "Check the recipient."],
  [
    -32_603,
    "Check that Messages is signed in, and that imsg may control it (Privacy & Security, Automation).",
  ],
]);

/** Sorts a JSON-RPC error of imsg by whether another try can help. */
export function toDriverError(error: unknown): DriverError {
  const code = isObject(error) ? error["code"] : undefined;
  if (typeof code !== "number") return new DriverError("passing", "The answer of imsg could not be read.");
  // The words of the error may hold the recipient.
  const message = `imsg refused the message: ${code}. ${ADVICE.get(code) ?? ""}`.trim();
  return new DriverError(PASSING_CODES.has(code) ? "passing" : "lasting", message);
}
