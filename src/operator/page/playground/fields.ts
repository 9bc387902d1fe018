import { SETTINGS, TEMPLATE_FIELDS } from "../../../core/config/settings.ts";
import { toScheduleHook } from "../../../core/types.ts";
import type { MappingSource } from "../api-client.ts";
import { parseJson } from "../parts/format.ts";

/** The start of a trial: a stored event, or a recorded request. */
export interface StartEvent {
  hook: string;
  request: { payload: unknown; headers: Record<string, string>; query: Record<string, string> };
}

/** The request as it is edited. */
interface EditedRequest {
  hook: string;
  /** JSON. */
  payload: string;
  headers: string;
  query: string;
}

/** The mapping as it is edited. */
export interface EditedMapping {
  /** The templates. */
  fields: Record<string, string>;
  /** The id and all other fields, in JSON5. */
  others: string;
  /** The modules of its transform; none: it has no transform. */
  files: Record<string, string>;
}

/** The names that the JSON5 can have. */
export const FIELD_NAMES = Object.keys(SETTINGS).filter((name) => !["auth", "transform"].includes(name));

/** A new mapping for a hook; its id is none of those that are taken. */
export function createSource(hook = "new", taken: string[] = []): MappingSource {
  let id = hook;
  for (let count = 2; taken.includes(id); count++) id = `${hook}-${count}`;
  return { id, key: "", fields: { match: { path: hook }, messageTemplate: "{{json payload}}" }, samples: [] };
}

/** The hook of a mapping, if it names one. */
export function hookOf({ id, fields }: MappingSource): string | undefined {
  return fields.schedule ? toScheduleHook(id) : fields.match?.path;
}

export function toRequest(source: MappingSource, event: StartEvent | undefined, sample: string): EditedRequest {
  const chosen = source.samples.find(({ name }) => name === sample);
  const { payload, headers, query } = chosen ?? event?.request ?? { payload: { example: "value" } };
  return {
    hook: event?.hook ?? hookOf(source) ?? "new",
    payload: write(payload),
    headers: write(toStrings(headers)),
    query: write(toStrings(query)),
  };
}

/** The templates that are set, and the one that every mapping needs. */
export function toEdited({ id, fields, transform }: MappingSource): EditedMapping {
  const needed = fields.action === "wake" ? "textTemplate" : "messageTemplate";
  const shown = TEMPLATE_FIELDS.filter((name) => fields[name] !== undefined || (name === needed && !transform));
  const templates: readonly string[] = TEMPLATE_FIELDS;
  const others = Object.entries(fields).filter(([name]) => name !== "id" && !templates.includes(name));
  return {
    fields: Object.fromEntries(shown.map((name) => [name, fields[name] ?? ""])),
    others: write({ id, ...Object.fromEntries(others) }),
    files: transform?.files ?? {},
  };
}

/** The whole mapping in JSON5: the templates come first, in the line of the first brace unless `space` breaks it. */
export function toMappingText({ fields, others }: EditedMapping, space = " "): string {
  const given = Object.entries(fields).filter(([, text]) => text !== "");
  const lines = given.map(([name, text]) => `${JSON.stringify(name)}: ${JSON.stringify(text)},`);
  return others.replace("{", () => ["{", ...lines].join(space));
}

/** An object whose values are texts. */
export function parseTexts(text: string): { value: Record<string, string>; error?: string } {
  const { value, error } = parseJson(text);
  if (error !== undefined) return { value: {}, error };
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { value: {}, error: "This must be an object: { … }." };
  const other = Object.entries(value).find(([, one]) => typeof one !== "string")?.[0];
  return { value: toStrings(value), ...(other !== undefined && { error: `The value of ${other} must be a text.` }) };
}

function write(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

function toStrings(values: unknown): Record<string, string> {
  if (typeof values !== "object" || values === null) return {};
  return Object.fromEntries(Object.entries(values).filter(([, value]) => typeof value === "string"));
}
