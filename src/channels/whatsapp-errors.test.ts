import { expect, test } from "vitest";
import { toDriverError } from "./whatsapp-errors.ts";

test.each([1, 2, 4, 80_007, 130_429, 131_000, 131_016, 131_056, 131_057, 133_004])(
  "code %i is passing under any status",
  (code) => {
    expect(toDriverError(refusal(400, code)).kind).toBe("passing");
    expect(toDriverError(refusal(403, code)).kind).toBe("passing");
  },
);

test.each([0, 10, 100, 190, 200, 368, 131_026, 131_030, 131_047, 131_048])("code %i is lasting", (code) => {
  expect(toDriverError(refusal(400, code)).kind).toBe("lasting");
});

test("the next step stands beside the common ones", () => {
  expect(toDriverError(refusal(400, 131_047)).message).toContain("24 hours");
  expect(toDriverError(refusal(400, 190)).message).toContain("Check channels.whatsapp.token.");
});

test("the status decides where there is no code", () => {
  expect(toDriverError({ status: 502, headers: new Headers(), body: {} }).kind).toBe("passing");
  expect(toDriverError({ status: 404, headers: new Headers(), body: { error: "no" } }).kind).toBe("lasting");
});

test("a wait that the service names is kept", () => {
  const headers = new Headers({ "retry-after": "7" });
  expect(toDriverError({ ...refusal(429, 130_429), headers }).retryAfterMs).toBe(7000);
});

function refusal(status: number, code: number) {
  return { status, headers: new Headers(), body: { error: { code, message: "It did not work." } } };
}
