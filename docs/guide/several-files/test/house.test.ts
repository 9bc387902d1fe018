import assert from "node:assert/strict";
import { test } from "node:test";
import { runTransform } from "hookline/testing";

const house = (module: string): string => `teams/house/transforms/${module}`;

test("a message of the night comes in the morning, whole and once", async () => {
  let state: Record<string, unknown> = {};
  for (const message of ["The door is open.", "The door is closed."]) {
    const held = await runTransform(house("hold.ts"), { base: { message }, state, now: "2027-01-15T02:00:00Z" });
    assert.equal(held.result, null);
    state = held.state;
  }
  const told = await runTransform(house("digest.ts"), { state });
  const message = "While you slept:\nThe door is open.\nThe door is closed.\n(0 more)";
  assert.deepEqual(told.result, { message });
  const again = await runTransform(house("digest.ts"), { state: told.state });
  assert.equal(again.result, null);
});

test("by day, a message goes on as it is", async () => {
  const base = { message: "The door is open." };
  const { result, state } = await runTransform(house("hold.ts"), { base, state: {}, now: "2027-01-15T12:00:00Z" });
  assert.deepEqual([result, state], [undefined, {}]);
});
