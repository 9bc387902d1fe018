import { isObject, parsePath, readOwn, type Path } from "../core/shared/json.ts";
import { listTemplatePaths } from "../core/shared/template-values.ts";

/**
 * A sentence for each path of a mapping's templates that has no value, because a name in it has dots: of `{{labels.app.name}}`
 * for a field `app.name` of `labels`.
 */
export function explainDottedNames(mapping: object, payload: unknown): string[] {
  const texts = JSON.stringify(mapping).match(/\{\{[^{}]*\}\}/g) ?? [];
  return [...new Set(texts)].flatMap((text) =>
    listTemplatePaths(text).flatMap((found) => {
      const path = parsePath(found.replace(/^(?:@root\.)?payload\./, "").replace(/^@root\./, "")) ?? [];
      const fixed = fix(payload, path);
      return fixed ? [`{{${found}}} has no value: a name that has dots is written in brackets: {{${fixed}}}.`] : [];
    }),
  );
}

function fix(payload: unknown, path: Path): string | undefined {
  let parent = payload;
  for (const [index, key] of path.entries()) {
    const child = readOwn(parent, key);
    if (child === undefined) return isObject(parent) ? joinKeys(parent, path, index) : undefined;
    parent = child;
  }
  return undefined;
}

/** The path with the longest name of the object that its keys from `start` on make. */
function joinKeys(parent: object, path: Path, start: number): string | undefined {
  for (let end = path.length; end > start + 1; end -= 1) {
    const name = path.slice(start, end).join(".");
    if (Object.hasOwn(parent, name)) return [...path.slice(0, start), `[${name}]`, ...path.slice(end)].join(".");
  }
  return undefined;
}
