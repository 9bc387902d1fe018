import { parseDuration } from "../config/resolve.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import type { SchemaCheck } from "../config/schema/validator.ts";
import type { MappingSource } from "../config/types.ts";
import type { RunLimit, RunLimits } from "../journal/journal.ts";
import type { Path } from "../shared/json.ts";
import type { TransformBundle } from "../transforms/runner.ts";
import type { Match } from "./match.ts";
import type { Template } from "./template/template.ts";

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

/** What the mappings' runs may take of the service; none of those without a limit. */
export function toRunLimits(mappings: readonly CompiledMapping[]): RunLimits {
  return new Map(mappings.map(({ source }) => [source.id, toRunLimit(source.mapping)] as const).filter(hasLimit));
}

function toRunLimit({ concurrency, rateLimit }: MappingInput): RunLimit {
  if (!rateLimit) return { concurrency };
  const { max, perMs, per = "1m" } = rateLimit;
  return { concurrency, rate: { max, perMs: perMs ?? parseDuration(per) } };
}

function hasLimit([, { concurrency, rate }]: readonly [string, RunLimit]): boolean {
  return concurrency !== undefined || rate !== undefined;
}
