import path from "node:path";
import { orElse, parentsOf, readRegularFile } from "../shared/system/files.ts";
import { type BuildError, type CommonOptions, type Loader, transformText } from "./esbuild.ts";
import { JSX, MAX_SOURCE_BYTES, toOwner } from "./source-boundary.ts";

const AWAIT = "await at its top level, which a transform does not have: it is loaded at once";
const DECORATORS =
  "decorators of experimentalDecorators, which a transform does not have: it has those of JavaScript, without parameters";

/** Messages of esbuild about syntax that a transform cannot have. */
const KNOWN: [says: RegExp, what: string][] = [
  [/^Top-level await/, AWAIT],
  [/^The JSX syntax extension/, JSX],
  [/^Parameter decorators only work/, DECORATORS],
];

/** Advice for the author's own file. */
const INSTEAD = new Map([
  [AWAIT, "Await inside of its function."],
  [JSX, "Build the text with a template literal."],
  [DECORATORS, "Write them for the standard, or call them as functions."],
]);

/** Gives an error in words of the author, if it is about syntax that a transform cannot have. `text` is that of its file. */
export async function explainSyntax(
  error: BuildError,
  text: string | undefined,
  options: CommonOptions,
): Promise<BuildError> {
  const file = error.location?.file ?? "";
  const known = KNOWN.find(([says]) => says.test(error.text))?.[1];
  const what = known ?? ((await isJsx(error, file, text, options)) ? JSX : undefined);
  return what === undefined ? error : { ...error, text: refuse(file, what) };
}

function refuse(file: string, what: string): string {
  const owner = toOwner(file);
  if (owner === "") return `${path.basename(file)} has ${what}. ${INSTEAD.get(what)}`;
  return `The package "${owner}" has ${what}. Use another package.`;
}

/** In TypeScript, `<b>` begins an assertion of a type, so the error is somewhere behind it. */
async function isJsx(
  { pluginName }: BuildError,
  file: string,
  text: string | undefined,
  options: CommonOptions,
): Promise<boolean> {
  if (pluginName || !/\.[mc]?ts$/.test(file) || text === undefined || !/<[A-Za-z>]/.test(text)) return false;
  // A text that compiles as it is has no wrong syntax: the error is about something that it imports.
  return !(await compiles(text, "ts", options)) && (await compiles(text, "tsx", options));
}

async function compiles(text: string, loader: Loader, options: CommonOptions): Promise<boolean> {
  return (await transformText(text, { ...options, loader, sourcemap: false })).result !== undefined;
}

/** Decorators as esbuild writes them. */
const LOWERED = /\b__decoratorStart\b/;
const DECORATOR = /(?:^|[;{}(,])\s*@[A-Za-z_$]/;

/**
 * Finds the first decorator of a file whose compiler options say that it is one of experimentalDecorators: the other kind
 * would call it with other arguments. Only if the code has decorators at all.
 */
export function findOldDecorators(code: Buffer, files: string[], root: string): BuildError[] {
  if (!LOWERED.test(code.toString("latin1"))) return [];
  const own = files.filter((file) => file.endsWith("ts") && toOwner(file) === "" && hasOldDecorators(file));
  return own.flatMap((file): BuildError[] => {
    const lines = readText(file).split("\n");
    const line = lines.findIndex((each) => DECORATOR.test(each));
    const lineText = lines[line];
    if (lineText === undefined) return [];
    const place = {
      file: path.relative(root, file),
      namespace: "file",
      line: line + 1,
      column: 0,
      length: 0,
      lineText,
    };
    return [{ text: refuse(file, DECORATORS), location: { ...place, suggestion: "" } }];
  });
}

/** By the nearest `tsconfig.json`. */
function hasOldDecorators(file: string): boolean {
  const options = parentsOf(file).map((folder) => readText(path.join(folder, "tsconfig.json")));
  return /"experimentalDecorators"\s*:\s*true/.test(options.find((text) => text !== "") ?? "");
}

function readText(file: string): string {
  return orElse("", () => readRegularFile(file, MAX_SOURCE_BYTES).toString("utf8"));
}
