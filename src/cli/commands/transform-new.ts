import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "../../config/package.ts";
import { ConfigError } from "../../errors.ts";
import { BUILT_IN_HOOKS } from "../../types.ts";
import { locateTransforms, workingFolder } from "../context.ts";

/** What lets an editor complete a transform, with nothing installed. */
const TYPES = "hookline.d.ts";
const COMPILER_OPTIONS = "tsconfig.json";

/** Writes a typed transform with its samples, and what an editor needs beside it. Overwrites nothing of a person's. */
export async function newTransform(given: string, flags: { dir?: string; config?: string }): Promise<void> {
  const name = requireName(given.replace(/\.ts$/, ""));
  const folder = await locateTransforms(flags);
  const files = transformTemplate(name);
  requireFree(folder, Object.keys(files));

  for (const [file, text] of Object.entries(files)) write(path.join(folder, file), text);
  const support = copySupport(folder);
  tell(name, folder, [...Object.keys(files), ...support]);
}

function requireName(name: string): string {
  if (!/^[a-z0-9][a-z0-9_-]*$/i.test(name)) {
    throw new ConfigError([
      { message: `"${name}" is no name for a transform: expected letters, digits, - and _, as in my-hook.` },
    ]);
  }
  if (!BUILT_IN_HOOKS.some((hook) => hook === name)) return name;
  throw new ConfigError([{ message: `The service answers the hook ${name} itself: choose another name.` }]);
}

function requireFree(folder: string, files: string[]): void {
  const taken = files.map((file) => path.join(folder, file)).filter((file) => existsSync(file));
  if (taken.length === 0) return;
  const message = "This file is there already: nothing was written.";
  throw new ConfigError(taken.map((file) => ({ file, message })));
}

/** The types are this version's own and written anew; compiler options are a person's once they are there. */
function copySupport(folder: string): string[] {
  const wanted = existsSync(path.join(folder, COMPILER_OPTIONS)) ? [TYPES] : [TYPES, COMPILER_OPTIONS];
  for (const file of wanted) copyFileSync(path.join(PACKAGE_ROOT, "transforms", file), path.join(folder, file));
  return wanted;
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function tell(name: string, folder: string, files: string[]): void {
  const shown = path.relative(workingFolder(), folder) || ".";
  const lines = [
    "Written:",
    ...files.map((file) => `  ${path.join(shown, file)}`),
    "",
    "The mapping for hooks.mappings in your configuration:",
    `  ${mappingTemplate(name)}`,
    "",
    "Next, its samples at every save:",
    `  webhooks test ${shown} --watch`,
  ];
  console.log(lines.join("\n"));
}

/** What a new transform begins as, by file name: a module that does something useful, a payload, the action it gives. */
function transformTemplate(name: string): Record<string, string> {
  return {
    [`${name}.ts`]: MODULE,
    [`${name}.samples/problem.json`]: toJson(PROBLEM),
    [`${name}.samples/problem.expected.json`]: toJson([toProblemAction(name)]),
    [`${name}.samples/all-well.json`]: toJson({ ...PROBLEM, status: "ok" }),
    [`${name}.samples/all-well.expected.json`]: toJson([]),
  };
}

/** The mapping that a configuration needs to use it. */
function mappingTemplate(name: string): string {
  const instructions = "Find the likely cause and say what to do.";
  return `{ match: { path: "${name}" }, transform: { module: "${name}.ts" }, instructions: "${instructions}" }`;
}

const MODULE = `import type { Transform } from "hookline";

/** The part of the body that is read here. It comes from outside: what is missing must do no harm. */
interface Payload {
  service?: string;
  status?: string;
  detail?: string;
}

const transform: Transform<Payload> = ({ payload }) => {
  const { service = "A service", status = "unknown", detail = "No detail was given." } = payload;
  if (status === "ok") return null; // Nothing to do: the request is answered with 204.

  console.log("status", status); // Shown by \`webhooks try\` and with the event.
  return {
    message: \`\${service} reports \${status}. \${detail}\`,
    sessionKey: \`status:\${service}\`, // One conversation for each service.
  };
};
export default transform;
`;

const PROBLEM = { service: "billing", status: "degraded", detail: "Queue length 1840, usually below 50." };

function toProblemAction(name: string): object {
  const { service, status, detail } = PROBLEM;
  return {
    kind: "agent",
    message: `${service} reports ${status}. ${detail}`,
    name,
    sessionKey: `status:${service}`,
  };
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
