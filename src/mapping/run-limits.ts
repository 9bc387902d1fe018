import { parseDuration } from "../config/duration.ts";
import type { MappingInput } from "../config/generated.ts";
import type { RunLimit, RunLimits } from "../journal/port.ts";
import type { CompiledMapping } from "./compiled-mapping.ts";

/** What the mappings' runs may take of the service; none of those without a limit. */
export function toRunLimits(mappings: readonly CompiledMapping[]): RunLimits {
  return new Map(
    mappings.map(({ source }) => [source.id, toRunLimit(source.mapping)] as const).filter(hasLimit),
  );
}

function toRunLimit({ concurrency, rateLimit }: MappingInput): RunLimit {
  if (!rateLimit) return { concurrency };
  const { max, perMs, per = "1m" } = rateLimit;
  return { concurrency, rate: { max, perMs: perMs ?? parseDuration(per) } };
}

function hasLimit([, { concurrency, rate }]: readonly [string, RunLimit]): boolean {
  return concurrency !== undefined || rate !== undefined;
}
