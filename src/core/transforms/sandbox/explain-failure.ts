import { withPeriod } from "../../shared/text/text.ts";
import type { FailedAnswer } from "./child-answer.ts";
import type { JobRequest } from "./job.ts";
import { findPackage } from "./stack-trace.ts";

/** Advice for globals of Node that authors try and that are missing. */
const HINTS = new Map([
  ["fetch", "a transform has no network; send what it needs with the request, or let the agent fetch it"],
  ["process", "a transform has no process and no environment; pass values in transform.secrets"],
  ["Buffer", 'use TextEncoder, TextDecoder, atob and btoa, or npm\'s package: import { Buffer } from "buffer"'],
]);

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

/** A kind of thrown errors, with the message for those that a package throws. */
interface Meaning {
  says: RegExp;
  /** `found`: the groups of `says`. */
  ofPackage(name: string, ...found: string[]): string;
  /** If it is thrown in the author's code. */
  own?(message: string, ...found: string[]): string;
  isFor?(request: JobRequest): boolean;
}

const OTHER = "Use another package.";

/** Advice about a package that needs a global that is missing. */
const WAYS: [missing: RegExp, way: string][] = [
  [/^(?:document|window|navigator|location|DOMParser|Node|(?:HTML)?Element)$/, "Use a package that needs no browser."],
  [/^(?:fetch|Request|Response|XMLHttpRequest|WebSocket)$/, "A transform has no network: let the agent do it."],
  [/^WebAssembly$/, "Use a package that is written in JavaScript."],
  [/^(?:Buffer|process|global|require|__dirname|__filename)$/, "Use a package that also runs in browsers."],
  [/^/, "Use another package."],
];

const MEANINGS: Meaning[] = [
  {
    says: /^ReferenceError: (\w+) is not defined$/,
    ofPackage: (name, missing = "") =>
      `"${name}" needs ${missing}, which a transform does not have. ${WAYS.find(([global]) => global.test(missing))?.[1]}`,
    own: (message, missing = "") => (HINTS.has(missing) ? `${message}: ${HINTS.get(missing)}.` : message),
  },
  {
    // An assignment to something that is frozen: the built-in objects of a shared realm are.
    says: /^TypeError: (?:Cannot (?:assign to|add property|define property|redefine property|delete property)|.*\bobject is not extensible)/,
    isFor: ({ bundle }) => bundle.spec.isolation !== "strict",
    ofPackage: (name) => `"${name}" changes built-in objects. Set transform.isolation to "strict" (about 1 ms a call).`,
  },
  {
    // The code of a bundle is strict.
    says: /^SyntaxError: (.*(?:[Ss]trict mode|Duplicate parameter name).*)$/,
    ofPackage: (name, what = "") =>
      `"${name}" is written for sloppy mode (${what}), which a transform does not have. ${OTHER}`,
    own: (_, what = "") => `${withPeriod(what)} A transform runs in strict mode.`,
  },
  {
    // The words of isolated-vm for `import()`.
    says: /^Error: Not supported$/,
    ofPackage: (name) => `"${name}" imports a module whose name it computes, which finds nothing here. ${OTHER}`,
    own: () => "This import() has a name that the code computes, which finds nothing while a transform runs.",
  },
  {
    says: /^Error: (require\(".*"\)) finds nothing/,
    ofPackage: (name, call = "") => `"${name}" calls ${call}, which finds nothing while a transform runs. ${OTHER}`,
  },
  {
    // A named import that an npm package of that name does not export, as esbuild writes its use.
    says: /^TypeError: \(0 ?, import_\w+\.(\w+)\) is not a (?:function|constructor)$/,
    ofPackage: (name, missing = "") => `"${name}" needs "${missing}" of a package that does not export it. ${OTHER}`,
    own: (_, missing = "") => `The package that "${missing}" is imported from does not export it.`,
  },
  {
    says: /^(.*)$/s,
    isFor: ({ operation }) => operation === "check",
    ofPackage: (name, message = "") =>
      `"${name}" fails while the module is loaded: ${withPeriod(message)} If it needs a browser or Node, use another package.`,
  },
];

function explainThrown({ message, stack = "" }: FailedAnswer, request: JobRequest): string {
  const meaning = MEANINGS.find(({ says, isFor }) => says.test(message) && isFor?.(request) !== false);
  if (!meaning) return message;
  const [, ...found] = meaning.says.exec(message) ?? [];
  const name = findPackage(request.bundle, stack);
  if (name === undefined) return meaning.own?.(message, ...found) ?? message;
  return meaning.ofPackage(name, ...found);
}
