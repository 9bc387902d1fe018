/**
 * Lets a model obey everything that any text tells it, and prints what came of it: in the payloads of every preset, in what is
 * read, in tool results, in later turns, in heartbeats. Then it switches each rule off, one by one, and prints whether a case
 * fails without it. Exits 1 if anything happened that neither a grant nor a person allowed, if work of the operator was not
 * done, or if a rule is not needed by any case.
 *
 *     npm run injection
 *     npm run injection -- github slack
 *     npm run injection -- rules
 */
import { findPresets } from "../../src/core/config/presets/file.ts";
import { CASES, injectPreset, type Outcome } from "./cases.ts";
import { REMOVALS } from "./removals.ts";

const names = process.argv.slice(2);
const all: Outcome = { texts: 0, effects: [], done: 0, wanted: 0 };
const WIDTHS = [58, 6, 24, 10];

print("injected in", "texts", "effects without a grant", "work done");
for (const preset of findPresets()) await add(preset, () => injectPreset(preset), `payloads of ${preset}`);
for (const [name, run] of Object.entries(CASES)) await add(name, run);
printOutcome("all", all);
for (const effect of all.effects) console.log(effect);
const isUnneeded = names.length === 0 || names.includes("rules") ? await removeRules() : false;
process.exit(all.effects.length > 0 || all.done < all.wanted || isUnneeded ? 1 : 0);

/** Whether a rule can be removed and every case is as before. */
async function removeRules(): Promise<boolean> {
  let isOneUnneeded = false;
  print("\nswitched off", "", "a case fails");
  for (const { name, run, effect } of REMOVALS) {
    const fails = effect.test(await run());
    print(name, "", fails ? "yes" : "NO");
    isOneUnneeded ||= !fails;
  }
  return isOneUnneeded;
}

async function add(name: string, run: () => Promise<Outcome>, title = name): Promise<void> {
  if (names.length > 0 && !names.includes(name)) return;
  const outcome = await run();
  all.texts += outcome.texts;
  all.done += outcome.done;
  all.wanted += outcome.wanted;
  all.effects.push(...outcome.effects.map((effect) => `${title}: ${effect}`));
  printOutcome(title, outcome);
}

function printOutcome(title: string, { texts, effects, done, wanted }: Outcome): void {
  print(title, texts, effects.length, wanted === 0 ? "–" : `${Math.floor((100 * done) / wanted)} %`);
}

function print(...cells: (string | number)[]): void {
  console.log(
    cells
      .map((cell, index) => String(cell).padEnd(WIDTHS[index] ?? 0))
      .join(" ")
      .trimEnd(),
  );
}
