import path from "node:path";
import type { MappingInput } from "../config/schema/generated.ts";
import { compileSchema, type SchemaCheck } from "../config/schema/validator.ts";
import type { MappingSource } from "../config/types.ts";
import { type ConfigProblem, messageOf } from "../errors.ts";
import { parsePath } from "../shared/json.ts";
import type { TransformBundle } from "../transforms/runner.ts";
import { type Coalesce, type CompiledMapping, type ForEach, TEMPLATE_FIELDS } from "./compiled-mapping.ts";
import { compileMatch } from "./match.ts";
import { createReport, type Report, reportBacktracking } from "./report.ts";
import { TemplateError } from "./template/syntax.ts";
import { compileTemplate, type Template } from "./template/template.ts";

export interface CompileOptions {
  bundle?: TransformBundle;
  /** Reads a schema file as text; throws where it cannot. */
  readFile: (path: string) => string;
}

/** Prepares a mapping, or says everything that is wrong with it: each problem with file and key. */
export function compileMapping(
  source: MappingSource,
  { bundle, readFile }: CompileOptions,
): { mapping?: CompiledMapping; problems: ConfigProblem[]; warnings: ConfigProblem[] } {
  const report = createReport(source);
  const mapping: CompiledMapping = {
    source,
    match: compileMatch(source.mapping.match ?? {}, report),
    check: compilePayloadSchema(source, readFile, report),
    forEach: compileForEach(source.mapping, report),
    templates: compileTemplates(source.mapping, report),
    coalesce: compileCoalesce(source.mapping, report),
    bundle,
  };
  reportTemplates(mapping, report);
  const { problems, warnings } = report;
  return problems.length > 0 ? { problems, warnings } : { mapping, problems, warnings };
}

function compileTemplates(mapping: MappingInput, report: Report): CompiledMapping["templates"] {
  const templates: CompiledMapping["templates"] = {};
  for (const field of TEMPLATE_FIELDS) {
    const source = mapping[field];
    if (source !== undefined) templates[field] = compileField(field, source, report);
  }
  return templates;
}

function compileCoalesce({ coalesce }: MappingInput, report: Report): Coalesce | undefined {
  if (!coalesce) return undefined;
  const key = compileField("coalesce.key", coalesce.key, report);
  return key && { key, windowMs: coalesce.windowMs };
}

function compileField(field: string, source: string, report: Report): Template | undefined {
  try {
    return compileTemplate(source);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const place = source.includes("\n") ? `Line ${error.line} of the template: ` : "";
    report.problem(field, place + error.message, error.excerpt);
    return undefined;
  }
}

function compilePayloadSchema(
  { mapping: { schema }, baseDir }: MappingSource,
  readFile: CompileOptions["readFile"],
  report: Report,
): SchemaCheck | undefined {
  if (schema === undefined) return undefined;
  try {
    const written = typeof schema === "string" ? JSON.parse(readFile(path.resolve(baseDir, schema))) : schema;
    return compileSchema(written, { onBacktracking: reportBacktracking(report, "schema") });
  } catch (error) {
    const place = typeof schema === "string" ? `The schema file ${schema}` : "The schema";
    report.problem("schema", `${place} cannot be used: ${messageOf(error)}.`);
    return undefined;
  }
}

/** The path is that of a template: what it leads to may be named from the payload's fields, or from `payload`. */
function compileForEach({ forEach: text, forEachNarrows }: MappingInput, report: Report): ForEach | undefined {
  if (text === undefined) return undefined;
  const keys = parsePath(text.trim());
  if (keys === undefined)
    report.problem("forEach", "This is no path: write it as messages, data.items or data[0].items.");
  const narrows = forEachNarrows ?? false;
  return keys && { text, path: keys[0] === "payload" ? keys.slice(1) : keys, narrows };
}

/** Tells of templates that compile and yet cannot give what their field is for. */
function reportTemplates(mapping: CompiledMapping, report: Report): void {
  if (mapping.source.mapping.forEach === undefined) reportMisplacedItem(mapping, report);
  const { dedupe } = mapping.templates;
  if (dedupe?.isStatic && dedupe.render({}).trim() !== "") {
    report.warning(
      "dedupe",
      "is the same for every request: all that come after the first would count as its repeats. Name what tells them apart, as {{id}}.",
    );
  }
}

/** `item` and `index` without `forEach`: fields of the payload's own, or a mistake. */
function reportMisplacedItem({ templates, coalesce }: CompiledMapping, report: Report): void {
  for (const [field, template] of Object.entries({ ...templates, "coalesce.key": coalesce?.key })) {
    const name = ["item", "index"].find((only) => template?.fields.has(only));
    if (name === undefined) continue;
    report.warning(
      field,
      `"${name}" exists only with forEach: add forEach, or write payload.${name} where the payload has a field of that name.`,
    );
  }
}
