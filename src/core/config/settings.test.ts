import { expect, test } from "vitest";
import { resolve } from "../../../test/support/mapping.ts";
import type { MappingInput } from "./schema/generated.ts";
import { SETTINGS } from "./settings.ts";

const stored = Object.entries(SETTINGS).flatMap(([name, setting]) => ("stored" in setting ? [name] : []));

test.each(stored)("%s is stored with the turn", async (name) => {
  const mapping: MappingInput = { messageTemplate: "x", [name]: "given" };
  const { actions } = await resolve("shop", {}, { mappings: [mapping] });
  expect(actions).toMatchObject([{ kind: "agent", [name]: "given" }]);
});

test("a setting that the mapping lacks is not stored", async () => {
  const { actions } = await resolve("shop", {}, { mappings: [{ messageTemplate: "x" }] });
  for (const name of stored) expect(actions[0]).not.toHaveProperty(name);
});
