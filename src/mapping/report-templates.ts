import type { CompiledMapping } from "./compile.ts";
import type { Report } from "./report.ts";

/** Tells of templates that compile and yet cannot give what their field is for. */
export function reportTemplates(mapping: CompiledMapping, report: Report): void {
  if (mapping.source.mapping.forEach === undefined) reportMisplacedItem(mapping, report);
  const { dedupe } = mapping.templates;
  if (dedupe?.isStatic && dedupe.render({}).trim() !== "") {
    report.warning(
      "dedupe",
      "is the same for every request: all that come after the first would count as its repeats. Name what tells them apart, as {{id}}.",
    );
  }
}

/**
 * `item` and `index` without `forEach`. In a key that is a problem: it would be the same for one request and the next, and
 * the later one would count as a repeat, or join the run of the first.
 */
function reportMisplacedItem({ templates, coalesce }: CompiledMapping, report: Report): void {
  for (const [field, template] of Object.entries({ ...templates, "coalesce.key": coalesce?.key })) {
    const name = ["item", "index"].find((only) => template?.fields.has(only));
    if (name === undefined) continue;
    const tell = KEYS.has(field) ? report.problem : report.warning;
    tell(
      field,
      `"${name}" exists only with forEach: add forEach, or write payload.${name} where the payload has a field of that name.`,
    );
  }
}

const KEYS = new Set(["dedupe", "coalesce.key"]);
