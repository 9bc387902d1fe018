import path from "node:path";
import { type CommonOptions, transformText } from "./esbuild.ts";
import { toRealPath } from "../shared/system/files.ts";
import { type SourceBoundary, toLoader } from "./source-boundary.ts";

/**
 * `import(`./texts/${name}.json`)` makes esbuild walk the folder `./texts` for everything that could be meant, without asking a
 * plugin. Gives the reason why a file's text must not be built: such a walk would begin outside of the boundary.
 */
export async function refuseWalks(
  text: string,
  file: string,
  { boundary, options }: { boundary: SourceBoundary; options: CommonOptions },
): Promise<string | undefined> {
  if (!MAY_WALK.test(text)) return undefined;
  // One way to write it is left: without types, comments, escapes, constants and conditions in the argument.
  const { result } = await transformText(text, {
    ...options,
    loader: toLoader(file),
    format: "esm",
    sourcemap: false,
    minifyWhitespace: true,
  });
  // The build says what is wrong with it.
  if (result === undefined) return undefined;
  for (const { index, 0: call } of result.code.matchAll(CALL)) {
    const start = readStart(result.code, index + call.length);
    if (!start.startsWith("./") && !start.startsWith("../")) continue;
    const folder = path.resolve(path.dirname(file), start.slice(0, start.lastIndexOf("/") + 1));
    const real = toRealPath(folder);
    if (real === undefined || isSearchable(real, boundary)) continue;
    return `The import of ${JSON.stringify(start)} and more, in ${path.basename(file)}, searches a folder outside ${boundary.root}. Begin the path with a folder inside it.`;
  }
  return undefined;
}

/** A call of `import` or `require` whose argument is not a plain text, or an escape that could hide one. */
const MAY_WALK = /\b(?:import|require)\s*(?:[?.]|\/[*/]|\((?!\s*(?:"[^"\\\n]*"|'[^'\\\n]*')\s*\)))|\\u(?:\{|00[67])/;

const CALL = /\b(?:import|require)(?:\?\.)?\(/g;

const LITERAL = /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`((?:[^`\\$]|\\.|\$(?!\{))*)(`|\$\{)/sy;
const REST_OF_TEMPLATE = /\}((?:[^`\\$]|\\.|\$(?!\{))*)(`|\$\{)/sy;
const BETWEEN = /[\s(+]*/y;

/** The text that an expression begins with, as far as it is constant. */
function readStart(code: string, at: number): string {
  let text = "";
  let position = at;
  const read = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = position;
    const found = pattern.exec(code);
    if (found) position = pattern.lastIndex;
    return found;
  };
  for (;;) {
    read(BETWEEN);
    const found = read(LITERAL) ?? read(REST_OF_TEMPLATE);
    if (!found) return text;
    const [, ...parts] = found;
    text += parts.slice(0, -1).find((part) => part !== undefined) ?? "";
  }
}

/** All packages together are too many. */
function isSearchable(folder: string, boundary: SourceBoundary): boolean {
  return boundary.contains(path.join(folder, "any")) && path.basename(folder) !== "node_modules";
}
