import type { PresetWrites } from "../../config/resolved-config.ts";
import type { MappingInput } from "../../config/schema/generated.ts";
import type { Grant } from "../../types.ts";
import { compileArguments, describeTooLong, type FillArguments } from "../context.ts";
import type { Diagnostics } from "../diagnostics.ts";
import type { Budget } from "../template/template.ts";

type PresetWrite = PresetWrites["calls"][string];

/** A mapping's grant of a call, or of all calls of a pattern. */
export interface CompiledGrant extends Omit<Grant, "arguments"> {
  /** The arguments that the operator fixed. */
  fill: FillArguments;
  /** Their names. */
  fixed: string[];
}

/** Undefined unless the mapping has `grants`. */
export function compileGrants({ grants }: MappingInput, diagnostics: Diagnostics): CompiledGrant[] | undefined {
  if (!grants) return undefined;
  return Object.entries(grants).map(([call, written]) => {
    const { arguments: args = {}, ...grant } = toObjectForm(written);
    const fill = compileArguments(args, `grants["${call}"]`, diagnostics);
    return { call, ...grant, fill, fixed: Object.keys(args) };
  });
}

/** Grants whose arguments are plain values. */
export function toGrants(grants: MappingInput["grants"] = {}): Grant[] | undefined {
  const all = Object.entries(grants).map(([call, written]): Grant => ({ call, ...toObjectForm(written) }));
  return all.length > 0 ? all : undefined;
}

type WrittenGrant = NonNullable<MappingInput["grants"]>[string];

function toObjectForm(written: WrittenGrant): Exclude<WrittenGrant, string> {
  return typeof written === "string" ? { mode: written } : written;
}

/** Rules for calls of a preset, which are granted at the place of an event. */
export interface WriteRules {
  /** Undefined: it is no call of a preset. */
  find(call: string): PresetWrite | undefined;
  /** Whether its place is another one than that of the event. */
  isElsewhere(write: PresetWrite, args: Record<string, unknown>): boolean;
  /** Others can see the place of the event. */
  isPublic(): boolean;
}

/** The grants for one item. One whose fixed argument the event lacks is left out with a warning: it would allow more. */
export function renderGrants(
  grants: readonly CompiledGrant[],
  context: object,
  { budget, writes }: { budget: Budget; writes: WriteRules },
): { grants: Grant[]; warnings: string[] } {
  const warnings: string[] = [];
  const rendered = grants.flatMap(({ fill, fixed, ...grant }): Grant[] => {
    if (fixed.length === 0) return [grant];
    const args = fill(context, budget);
    const write = writes.find(grant.call);
    const missing = fixed.find(
      (name) => args[name] === undefined || args[name] === null || (write && args[name] === ""),
    );
    // An event about something else: there, it is not offered.
    if (write && missing !== undefined && Object.hasOwn(write.place, missing)) return [];
    const problem =
      missing === undefined
        ? (describeTooLong(args) ??
          (write && writes.isElsewhere(write, args) ? "it is not at the place of the event" : undefined))
        : `the payload lacks the value of ${missing}`;
    const isPublic = write !== undefined && (write.public === true || writes.isPublic());
    if (problem === undefined) return [{ ...grant, arguments: args, ...(isPublic && { isPublic }) }];
    warnings.push(`The grant of ${grant.call} is left out: ${problem}.`);
    return [];
  });
  return { grants: rendered, warnings };
}
