import { expect, test } from "vitest";
import { compileTemplate } from "../../../core/mapping/template/template.ts";
import { toPath } from "./path.ts";

test.each(["plain", "some-key", "a.b", "[x]", "a]b", String.raw`back\slash`, "two words", "0", "", "ä", "]"])(
  "the path of the key %j is one that a template reads",
  (key) => {
    const template = compileTemplate(`{{${toPath(["payload", key, "items", 1])}}}`);
    expect(template.render({ payload: { [key]: { items: ["no", "yes"] } } })).toBe("yes");
  },
);

test("is as short as it can be", () => {
  expect(toPath(["payload", "items", 0, "some-key"])).toBe("payload.items.[0].some-key");
});
