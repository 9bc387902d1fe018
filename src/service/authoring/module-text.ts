import { addValue, createShape, type Shape, toDeclaration } from "./shape.ts";

/** A new transform for payloads of a shape. `base`: the field of the action that it starts from. */
export function writeModule(name: string, shape: Shape, base: "message" | "text" | undefined): string {
  const declaration = declarePayload(shape);
  if (!base) {
    return toSource(declaration, "{ payload }", [
      "// Return null to skip a request: it is answered with 204.",
      `return { message: \`${name}: \${JSON.stringify(payload, undefined, 2)}\` };`,
    ]);
  }
  const log = 'console.log("fields", Object.keys(payload).join(", ")); // Shown with the event.';
  return toSource(declaration, "{ payload, base }", [
    "// `base` is the action without this transform. Return undefined to keep it, null to skip the request.",
    ...(shape.objects > 0 ? [log] : []),
    `return { ${base}: base.${base} };`,
  ]);
}

/**
 * A new transform for an event of a preset, or for all. `payload`: the name that its type has in `hookline/presets`, or what its
 * samples hold. `base`: the field of its action.
 */
export function writePresetModule(
  payload: string | Shape,
  event: string | undefined,
  base: "message" | "text",
): string {
  const head = typeof payload === "string" ? importPayload(payload) : declarePayload(payload);
  const others = [
    "// Other events keep the preset's action.",
    `if (event !== ${JSON.stringify(event)}) return undefined;`,
  ];
  return toSource(head, "{ event, payload, base }", [
    ...(event === undefined ? [] : [...others, ""]),
    "// `base` is the preset's action. Return undefined to keep it, null to skip the request.",
    'console.log("fields", event, Object.keys(payload).join(", ")); // Shown with the event.',
    `return { ${base}: base.${base} };`,
  ]);
}

function importPayload(name: string): string[] {
  return [
    `import type { ${name} } from "hookline/presets";`,
    "",
    "/** What the preset's samples have. The body comes from outside; without `Known`, further fields are `unknown`. */",
    `export type Payload = Known<${name}>;`,
  ];
}

function declarePayload(shape: Shape): string[] {
  return [
    "",
    "/** What the samples hold. The body comes from outside: any field may be missing. */",
    `export ${toDeclaration("Payload", shape)}`,
  ];
}

function toSource(head: string[], input: string, body: string[]): string {
  const known = head.some((line) => line.includes("Known<")) ? "Known, " : "";
  const lines = [
    `import type { ${known}Transform, TransformResult } from "hookline";`,
    ...head,
    "",
    `const transform: Transform<Payload> = (${input}): TransformResult => {`,
    ...body.map((line) => line && `  ${line}`),
    "};",
    "export default transform;",
    "",
  ];
  return lines.join("\n");
}

export function toShape(payloads: readonly unknown[]): Shape {
  const shape = createShape();
  for (const payload of payloads) addValue(shape, payload);
  return shape;
}
