/** The paths in a template, in their order: of `{{default headers.x-id payload.id}}` also `default`, since it could be a field. */
export function listTemplatePaths(template = ""): string[] {
  const expressions = template.match(/\{\{[^{}]*\}\}/g) ?? [];
  return expressions.flatMap((expression) => expression.replaceAll(/"[^"]*"/g, "").match(/[\w@][\w.@[\]-]*/g) ?? []);
}

/** Whether a field tells events apart, by its name: an id, or the time of a sender that has no id of an event. */
export function isIdPath(path: string): boolean {
  return /(?:id|guid|token|fingerprint|key|identifier|ts|etag|uri|eventTime|updatedAt)\]?$/i.test(path);
}
