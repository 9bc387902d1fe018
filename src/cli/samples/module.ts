import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "../../shared/package.ts";
import { type Shape, toDeclaration } from "./shape.ts";

const TRANSFORMS = path.join(PACKAGE_ROOT, "transforms");

/** With these two files an editor completes a transform with nothing installed. */
export const TYPES = "hookline.d.ts";
export const COMPILER_OPTIONS = "tsconfig.json";

/** Files by their name below the folder of the transforms. */
type Files = Record<string, string>;

export function readEditorFiles(): Files {
  return Object.fromEntries(
    [TYPES, COMPILER_OPTIONS].map((file) => [file, readFileSync(path.join(TRANSFORMS, file), "utf8")]),
  );
}

/** The template's own name, in the names of its files and in its samples. */
const TEMPLATE = "template/status";

/** A new transform without a payload to start from: a useful module, two payloads and what they lead to. */
export function readTemplate(name: string): Files {
  const files = globSync(`${TEMPLATE}{.ts,.samples/*}`, { cwd: TRANSFORMS }).toSorted();
  const rename = (text: string): string => text.replaceAll(TEMPLATE, name);
  return Object.fromEntries(
    files.map((file) => [rename(file), rename(readFileSync(path.join(TRANSFORMS, file), "utf8"))]),
  );
}

/** A new transform for payloads of a shape. `base`: the field of the action that it starts from. */
export function writeModule(name: string, shape: Shape, base: "message" | "text" | undefined): string {
  const lines = base
    ? [
        "const transform: Transform<Payload> = ({ payload, base }): TransformResult => {",
        "  // `base` is the action without this transform. Return undefined to keep it, null to skip the request.",
        ...(shape.objects > 0
          ? ['  console.log("fields", Object.keys(payload).join(", ")); // Shown with the event.']
          : []),
        `  return { ${base}: base.${base} };`,
      ]
    : [
        "const transform: Transform<Payload> = ({ payload }): TransformResult => {",
        "  // Return null to skip a request: it is answered with 204.",
        `  return { message: \`${name}: \${JSON.stringify(payload, undefined, 2)}\` };`,
      ];
  return `${[
    'import type { Transform, TransformResult } from "hookline";',
    "",
    "/** What the samples hold. The body comes from outside: any field may be missing. */",
    toDeclaration("Payload", shape),
    "",
    ...lines,
    "};",
    "export default transform;",
  ].join("\n")}\n`;
}
