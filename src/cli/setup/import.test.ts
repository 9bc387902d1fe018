import { expect, test } from "vitest";
import { findLacking } from "./import.ts";

test.each([
  ["const r = await fetch(u); Buffer.from(process.env.X)", ["fetch", "Buffer", "process"]],
  ["export default (ctx) => ctx.url.search", [expect.stringContaining("url of the input")]],
  [
    "export default ({ payload, url }) => ({ agentId: 1, message: url })",
    [expect.stringContaining("url"), expect.stringContaining("agentId")],
  ],
  ["export default ({ payload }) => ({ message: payload.url + prefetch(x.fetch()) + payload.process })", []],
])("%s", (code, expected) => {
  expect(findLacking(code)).toEqual(expected);
});
