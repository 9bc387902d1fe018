import { existsSync, readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import { readPath } from "../shared/json.ts";
import { compileTransform } from "./compile.ts";

/**
 * The transforms of an OpenClaw configuration `from` (a file), with what they import beside them, as files of the folder `to`;
 * and for each what it uses that the sandbox lacks, by key of the mapping.
 */
export async function readOpenClawTransforms(
  written: unknown,
  from: string,
  to: string,
): Promise<{ files: Map<string, string>; decisions: [string, string][] }> {
  const files = new Map<string, string>();
  const decisions: [string, string][] = [];
  const { transformsDir = "", mappings } = Object(readPath(written, ["hooks"]));
  const folder = path.resolve(path.dirname(from), "hooks", "transforms", String(transformsDir));
  const root = existsSync(folder) ? realpathSync(folder) : folder;
  for (const [index, mapping] of (Array.isArray(mappings) ? mappings : []).entries()) {
    const module = readPath(mapping, ["transform", "module"]);
    if (typeof module !== "string") continue;
    const spec = { file: path.resolve(root, module), root, timeoutMs: 1000, memoryMb: 64, secrets: {} };
    const compiled = await compileTransform({ ...spec, isolation: "request" });
    const inputs = (compiled.bundle ?? compiled).inputs.filter((input) => existsSync(input));
    const own = inputs.filter((input) => isWithinFolder(input, root));
    const sources = own.map(
      (input) => [path.join(to, path.relative(root, input)), readFileSync(input, "utf8")] as const,
    );
    for (const [name, source] of sources) files.set(name, source);
    const lacking = [
      ...compiled.problems.map(({ message }) => message.replace(/\.$/, "")),
      ...findLacking(compiled.bundle?.code ?? sources.map(([, source]) => source).join("\n")),
      ...(own.length < inputs.length ? ["packages: install them beside the configuration"] : []),
    ];
    const sentence = `${module} uses what the sandbox does not have: ${lacking.join("; ")}.`;
    if (lacking.length > 0) decisions.push([`hooks.mappings[${index}].transform`, sentence]);
  }
  return { files, decisions };
}

function isWithinFolder(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return !relative.startsWith("..") && !path.isAbsolute(relative) && !relative.split(path.sep).includes("node_modules");
}

/** Globals of Node and the web that a transform does not have. */
const MISSING_GLOBALS =
  /(?<![\w$.])(fetch|XMLHttpRequest|WebSocket|process|Buffer|require|setTimeout|setInterval|setImmediate|performance|__dirname|__filename)(?=\s*[.([])/g;

/** What OpenClaw gives to a transform, or takes from it, and its replacement here. */
const OPENCLAW: [RegExp, string][] = [
  [/\bctx\.url\b|\(\s*\{[^{}()]*\burl\b[^{}()]*\}/, "url of the input: use path and query"],
  [/\bagentId\s*[:,}]/, "agentId of the result: set model"],
  [/\bsessionKeySource\s*[:,}]/, 'sessionKeySource of the result: set sessionKeys: "trusted" on the mapping'],
  [/\bsessionMode\s*[:,}]/, "sessionMode of the result: a session keeps its history"],
];

/** What code that was written for OpenClaw uses and the sandbox lacks, in a few words each. May name more than there is. */
export function findLacking(code: string): string[] {
  const globals = Array.from(code.matchAll(MISSING_GLOBALS), ([name]) => name);
  return [...new Set(globals), ...OPENCLAW.filter(([use]) => use.test(code)).map(([, what]) => what)];
}
