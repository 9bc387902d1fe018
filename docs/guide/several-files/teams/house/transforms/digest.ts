import type { Module } from "hookline";

type Held = { lines: string[]; more: number };

const digest: Module<"digest.ts"> = ({ state }) => {
  const held = state.get("held") as Held | undefined;
  if (!held) return null;
  state.set("held", undefined);
  return { message: `While you slept:\n${held.lines.join("\n")}\n(${held.more} more)` };
};
export default digest;
