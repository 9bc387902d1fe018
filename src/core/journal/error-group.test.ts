import { expect, test } from "vitest";
import { toErrorGroup } from "./error-group.ts";

test.each([
  ['The channel "C01" has no member 4711.', 'The channel "C02" has no member 12.'],
  ["run 01a203fc-45d5-7a13-8e95-16865d04c3ab is gone", "run 01a203fc-45d5-7a13-8e95-16865d04c3ac is gone"],
  ["commit 38efbc1c0a11 is unknown", "commit aaefbc1c0a99 is unknown"],
  ["timed out after 600.5 s\nat a", "timed out after 30 s\nat b"],
  ["no member (412) in 500 channels", "no member (7) in 12 channels"],
  ["it doesn't answer 'one'", "it doesn't answer 'two'"],
])("%s is in the group of %s", (one, other) => {
  expect(toErrorGroup(one)).toBe(toErrorGroup(other));
});

test.each([
  ["401 from api.example.com", "503 from api.example.com"],
  ["openai answered 400: no", "openai answered 429: no"],
  ["it isn't there", "it isn't here"],
  ["deadbeef", "cafebabe"],
])("%s is in another group than %s", (one, other) => {
  expect(toErrorGroup(one)).not.toBe(toErrorGroup(other));
});
