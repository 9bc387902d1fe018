import { appendSegment, isObject, toObject, toText } from "../../shared/json.ts";
import { isIdPath, listTemplatePaths } from "../../shared/template-values.ts";
import type { Drivers } from "../plugins.ts";
import type { Preset } from "../schema/generated.ts";
import { type ParameterUse, toIgnoreDefaults } from "./parameters.ts";

// Conditions that `with` adds to a preset's mappings, and values of the preset that it must not replace.

interface Additions {
  where?: unknown;
  rules: readonly unknown[];
  /** Where the rules are in `with.ignore`. */
  rulesPath: string[];
}

/** The values that replace or fill in what the preset says, apart from what is added to its mappings. */
export function splitAdditions(
  { where, ignore, ...given }: Readonly<Record<string, unknown>>,
  preset: Preset,
): { values: Record<string, unknown>; additions: Additions } {
  // Nothing replaces the preset's own.
  const values = given["dedupe"] === false ? { ...given, dedupe: undefined } : given;
  if (Array.isArray(ignore)) {
    const switches = toIgnoreDefaults(preset);
    return { values: { ...values, ignore: switches }, additions: { where, rules: ignore, rulesPath: [] } };
  }
  const { rules = [], ...switches } = toObject(ignore);
  const additions = { where, rules: Array.isArray(rules) ? rules : [], rulesPath: ["rules"] };
  return { values: { ...values, ignore: switches }, additions };
}

/** Adds them to a mapping, and says where: its place in the preset's file is `key`. */
export function withAdditions(
  mapping: Record<string, unknown>,
  { where, rules, rulesPath }: Additions,
  key: string,
): { value: Record<string, unknown>; uses: ParameterUse[] } {
  const value = { ...mapping };
  const uses: ParameterUse[] = [];
  if (rules.length > 0) {
    const own: unknown[] = Array.isArray(mapping["ignore"]) ? mapping["ignore"] : [];
    value["ignore"] = [...own, ...rules];
    for (const index of rules.keys()) {
      const at = appendSegment(appendSegment(key, "ignore"), own.length + index);
      uses.push({ key: at, name: "ignore", path: [...rulesPath, index] });
    }
  }
  if (where !== undefined) {
    const match = toObject(mapping["match"]);
    const own = match["where"];
    value["match"] = { ...match, where: own === undefined ? where : { allOf: [own, where] } };
    uses.push({ key: `${key}.match.where${own === undefined ? "" : ".allOf[1]"}`, name: "where", path: [] });
  }
  return { value, uses };
}

/**
 * Why a given `dedupe` must not replace the preset's own. With a plain scheme, only `dedupe` keeps a request from running again
 * when somebody sends it again.
 */
export function findLostId(given: unknown, own: Record<string, unknown>, drivers: Drivers): string | undefined {
  const { auth } = own;
  const name = isObject(auth) ? toText(auth["scheme"]) : "";
  const scheme = drivers.providers[name];
  if (!isObject(auth) || !scheme || (scheme.replay?.(auth) ?? "plain") !== "plain") return undefined;
  const usual = scheme.deliveryId ?? toText(own["dedupe"]);
  const ids = listPaths(usual).filter(isIdPath);
  const wanted = ids.length > 0 ? ids : listPaths(usual);
  const read = typeof given === "string" ? listPaths(given) : [];
  if (wanted.length === 0 || read.some((path) => wanted.includes(path))) return undefined;
  return `The scheme ${name} is plain: only dedupe recognizes a request that is sent again. Use a template with the delivery's id, such as {{${wanted[0]}}}.`;
}

/** A field of the payload can be written with and without `payload`. */
function listPaths(template: string): string[] {
  return listTemplatePaths(template).map((path) => path.replace(/^payload\./, ""));
}
