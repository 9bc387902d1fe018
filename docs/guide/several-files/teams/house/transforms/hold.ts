import type { Module } from "hookline";

const HOUR = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Berlin", hour: "numeric", hourCycle: "h23" });
type Held = { lines: string[]; more: number };

/** At night a message waits. */
const hold: Module<"hold.ts"> = ({ base, state }) => {
  const hour = Number(HOUR.format(new Date()));
  if (hour >= 7 && hour < 22) return undefined;
  const held = (state.get("held") ?? { lines: [], more: 0 }) as Held;
  held.lines.push(String(base.message).slice(0, 200));
  while (JSON.stringify(held).length > 5000) {
    held.lines.shift();
    held.more++;
  }
  state.set("held", held);
  return null;
};
export default hold;
