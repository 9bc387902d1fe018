/** The text of a template that says the same for every request; undefined where it depends on one. */
export function staticText(template: string | undefined): string | undefined {
  return template?.includes("{{") ? undefined : template;
}
