import type { SchemaCheck } from "../config/ajv.ts";
import type { MappingSource } from "../config/resolved.ts";
import type { TransformBundle } from "../transforms/port.ts";
import type { Match } from "./match.ts";
import type { Path } from "./path.ts";
import type { Template } from "./template.ts";

/** The fields of a mapping that are templates. */
export const TEMPLATE_FIELDS = [
  "messageTemplate",
  "textTemplate",
  "name",
  "sessionKey",
  "channel",
  "to",
  "model",
  "thinking",
  "dedupe",
] as const;
export type TemplateField = (typeof TEMPLATE_FIELDS)[number];

/** A mapping with all that can be prepared ahead of a request. */
export interface CompiledMapping {
  source: MappingSource;
  match: Match;
  /** The payload's schema. */
  check?: SchemaCheck;
  forEach?: ForEach;
  templates: { [Field in TemplateField]?: Template };
  coalesce?: Coalesce;
  bundle?: TransformBundle;
}

export interface ForEach {
  /** As it was written. */
  text: string;
  /** Where the array is in the payload. */
  path: Path;
  /** The array in the payload holds just the item. */
  narrows: boolean;
}

export interface Coalesce {
  key: Template;
  windowMs: number;
}
