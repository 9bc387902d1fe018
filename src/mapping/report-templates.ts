import type { CompiledMapping } from "./compiled-mapping.ts";
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
