import type { FailedAnswer } from "./child-answer.ts";
import type { JobRequest } from "./job.ts";
import { findPackage } from "./stack-trace.ts";

/** Advice for globals of Node that authors try and that are missing. */
const HINTS: Record<string, string> = {
  fetch: "a transform has no network; send what it needs with the request, or let the agent fetch it",
  process: "a transform has no process and no environment; pass values in transform.secrets",
  Buffer: "use TextEncoder, TextDecoder, atob and btoa",
};

/** The message of a failed job, with what the author can do. */
export function explainFailure(answer: FailedAnswer, request: JobRequest): string {
  const { kind, message } = answer;
  if (kind === "memory" || kind === "timeout") return explainLimit(answer, request);
  return kind === "threw" ? explainThrown(answer, request) : message;
}

function explainLimit({ kind, message }: FailedAnswer, { operation, bundle }: JobRequest): string {
  if (kind === "memory") return `${message} It has transform.memoryMb: ${bundle.spec.memoryMb}.`;
  if (operation === "call") return `${message} Its limit is transform.timeoutMs.`;
  return `${message} It was only loaded, not called: move what takes long into its function.`;
}

const MISSING = /^ReferenceError: (\w+) is not defined$/;

/** An assignment to something that is frozen: the built-in objects of a shared realm are. */
const CHANGED =
  /^TypeError: (?:Cannot (?:assign to|add property|define property|redefine property|delete property)|.*\bobject is not extensible)/;

function explainThrown({ message, stack = "" }: FailedAnswer, { bundle }: JobRequest): string {
  const [, missing] = MISSING.exec(message) ?? [];
  const isChange = bundle.spec.isolation !== "strict" && CHANGED.test(message);
  if (missing === undefined && !isChange) return message;
  const name = findPackage(bundle, stack);
  if (name === undefined) {
    const hint = missing !== undefined && Object.hasOwn(HINTS, missing) ? HINTS[missing] : undefined;
    return hint === undefined ? message : `${message}: ${hint}.`;
  }
  if (missing !== undefined) return `"${name}" needs ${missing}, which a transform does not have.`;
  return `"${name}" changes built-in objects. Set transform.isolation to "strict" (about 1 ms a call).`;
}
