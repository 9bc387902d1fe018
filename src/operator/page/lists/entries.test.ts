import { expect, test } from "vitest";
import * as fc from "../../../../test/support/property.ts";
import { addPage, type Entries } from "./entries.ts";

const SIZE = 5;
const END = Number.MAX_SAFE_INTEGER;

/** The service: entries with seqs, of which each may change. */
function pageOf(all: Entries["entries"], before: number): Entries["entries"] {
  return all.filter(({ seq }) => seq < before).slice(-SIZE);
}

const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("write" as const), count: fc.nat(8) }),
    fc.record({ do: fc.constant("consume" as const), back: fc.nat(4) }),
    fc.record({ do: fc.constantFrom("newest" as const, "older" as const) }),
  ),
  { maxLength: 40 },
);

test("whatever is written between pages, nothing is there twice, nothing is missing, and the newest page is current", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      let all: Entries["entries"] = [];
      let known: Entries | undefined;
      let seq = 0;
      const read = (before: number): void => {
        known = addPage(known, pageOf(all, before), { before, size: SIZE });
      };
      for (const step of taken) {
        if (step.do === "write") {
          for (let count = 0; count < step.count; count++) {
            all.push({ seq: (seq += 2), role: "system", text: "", at: "", pending: true });
          }
        } else if (step.do === "consume") {
          const at = all.length - 1 - step.back;
          all = all.map((entry, index) => (index === at ? { ...entry, pending: undefined } : entry));
        } else read(step.do === "newest" || !known ? END : (known.entries[0]?.seq ?? END));
        const first = known?.entries[0]?.seq ?? END;
        const last = known?.entries.at(-1)?.seq ?? 0;
        const seqs = all.map((entry) => entry.seq).filter((each) => each >= first && each <= last);
        if (known) expect(known.entries.map((entry) => entry.seq)).toEqual(seqs);
      }
      read(END);
      expect(known?.entries.slice(-SIZE)).toEqual(all.slice(-SIZE));
      // Each page brings at least one more.
      for (const _ of all) if (known?.hasOlder) read(known.entries[0]?.seq ?? END);
      expect(known?.entries.map((entry) => entry.seq)).toEqual(all.map((entry) => entry.seq));
    }),
  );
});
