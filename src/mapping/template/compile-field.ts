import type { Report } from "../report.ts";
import { TemplateError } from "./syntax.ts";
import { compileTemplate, type Template } from "./template.ts";

/** Compiles the template of a mapping's field. Reports one that cannot be used, and gives undefined. */
export function compileField(field: string, source: string, report: Report): Template | undefined {
  try {
    return compileTemplate(source);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const place = source.includes("\n") ? `Line ${error.line} of the template: ` : "";
    report.problem(field, place + error.message, error.excerpt);
    return undefined;
  }
}
