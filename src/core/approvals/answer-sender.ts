import type { Bounds } from "../mapping/policy/bounds.ts";
import { toChannelName } from "../shared/channel-names.ts";

/** The part of a mapping that says which service its events are of. */
export interface Sender {
  credential?: string;
  /** Where its events may be; undefined: anywhere. */
  bounds?: Pick<Bounds, "covers">;
  source: { id: string; preset?: string; mapping: { source?: { channel: string } } };
}

/** Whether a mapping is of another use of a preset with the same account. */
export function isOtherUse(other: Sender, { credential, source }: Sender): boolean {
  const { preset, mapping } = other.source;
  return preset !== undefined && other.credential !== credential && accountOf(mapping) === accountOf(source.mapping);
}

/** The channel of its answers. */
export function accountOf({ source }: Sender["source"]["mapping"]): string {
  return toChannelName(source?.channel ?? "");
}
