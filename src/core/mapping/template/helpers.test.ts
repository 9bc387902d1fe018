import { describe, expect, test } from "vitest";
import { HELPERS } from "./helpers.ts";

describe("helpers", () => {
  test.each([
    ["json", [{ a: [1] }], '{"a":[1]}'],
    ["json", [undefined], "null"],
    ["parse", ["true"], true],
    ["parse", ["no JSON"], undefined],
    ["parse", ["[".repeat(2000) + "]".repeat(2000)], undefined],
    ["parse", [7], 7],
    ["default", ["", null, "third"], "third"],
    ["default", [0, "other"], 0],
    ["truncate", ["short", 5], "short"],
    ["truncate", ["much longer", 5], "much…"],
    ["truncate", ["ab😀cd", 4], "ab…"],
    ["truncate", ["text", 0], ""],
    ["truncate", ["text", "no number"], "text"],
    ["before", ["https://a.example/rest/1/rest/2", "/rest/"], "https://a.example"],
    ["before", ["no mark", "/"], "no mark"],
    ["rest", ["zen:event-type:ticket.created", "event-type:"], "ticket.created"],
    ["rest", ["no mark", "/"], "no mark"],
    ["join", [["a", 1, { b: 2 }]], 'a, 1, {"b":2}'],
    ["join", [["a", "b"], " | "], "a | b"],
    ["join", ["no list"], "no list"],
    ["words", ["invoice.payment_failed"], "invoice payment failed"],
    ["words", ["deal.propertyChange"], "deal property change"],
    ["words", ["domain.transfer-in.failed"], "domain transfer in failed"],
    ["words", ["APP_HOME"], "app home"],
    ["words", ["a word"], "a word"],
    ["htmlToText", ['<p>Tea &amp; <b hidden>no</b>milk</p><p style="display:none">no</p>'], "Tea & milk"],
    ["htmlToText", ["a < b\n\n  c & d"], "a < b\n\n  c & d"],
    ["without", ["no object", "a"], undefined],
    ["lower", ["ÄB"], "äb"],
    ["upper", ["äb"], "ÄB"],
    ["eq", ["a", "a"], true],
    ["eq", [1, "1"], false],
    ["and", [1, null, "x"], null],
    ["and", [1, "x"], "x"],
    ["or", [0, [], "x", "y"], "x"],
    ["or", [0, ""], ""],
    ["not", [[]], true],
    ["not", ["x"], false],
  ])("%s of %j is %j", (name, values, expected) => {
    expect(HELPERS[name]?.run(...values)).toBe(expected);
  });

  test.each([
    ["2026-11-20T10:08:00+01:00", "2026-11-20T09:08:00.000Z"],
    ["Fri, 20 Nov 2026 10:08:00 +0100", "2026-11-20T09:08:00.000Z"],
    [1_700_000_000, "2023-11-14T22:13:20.000Z"],
    [1_700_000_000_000, "2023-11-14T22:13:20.000Z"],
    ["1700000000.25", "2023-11-14T22:13:20.250Z"],
    ["part 2", "part 2"],
    ["2026-99-99", "2026-99-99"],
    [1e300, "1e+300"],
  ])("date of %j is %s", (value, expected) => {
    expect(HELPERS["date"]?.run(value)).toBe(expected);
  });

  test.each([
    [[1000, "usd"], "10.00 USD"],
    [[5, "eur"], "0.05 EUR"],
    [[-250, "USD"], "-2.50 USD"],
    [[0, "usd"], "0.00 USD"],
    [["123456789012345678", "usd"], "1234567890123456.78 USD"],
    [[1000, "jpy"], "1000 JPY"],
    [[0, "jpy"], "0 JPY"],
    [[1500, "kwd"], "1.500 KWD"],
    [[100_000, "huf"], "1000.00 HUF"],
    [[500, "ugx"], "5.00 UGX"],
    [[500, "UGX", 0], "500.00 UGX"],
    [[25, "XTR"], "25 XTR"],
    [["0.5", "usd"], "0.005 USD"],
    [[45.5, "usd", 0], "45.50 USD"],
    [["1200", "jpy", 0], "1200 JPY"],
    [[1000, "usd", undefined], "10.00 USD"],
    [[1000, "usd", false], "10.00 USD"],
    [[1e30, "usd"], "1e+30 USD"],
    [["about 5", "usd"], "about 5 USD"],
    [[1000, undefined], "1000"],
  ])("money of %j is %s", (values, expected) => {
    expect(HELPERS["money"]?.run(...values)).toBe(expected);
  });

  test("without has the other fields with a value, and only own ones", () => {
    const payload = JSON.parse('{"a":1,"b":0,"c":null,"d":"","__proto__":{"x":1}}');
    expect(Object.entries(Object(HELPERS["without"]?.run(payload, "a z")))).toEqual([
      ["b", 0],
      ["__proto__", { x: 1 }],
    ]);
  });

  test("parse reads JSON in Base64, as Google's Pub/Sub sends it", () => {
    for (const value of [{ a: "ä" }, {}, [{ a: 1 }]])
      expect(HELPERS["parse"]?.run(Buffer.from(JSON.stringify(value)).toString("base64"))).toEqual(value);
    expect(HELPERS["parse"]?.run("eyes")).toBeUndefined();
  });

  test.each(["date", "money", "words", "without", "lower", "upper", "join", "truncate", "before", "rest", "parse"])(
    "%s of a missing value is missing",
    (name) => {
      expect([undefined, null].map((value) => HELPERS[name]?.run(value, 5))).toEqual([undefined, undefined]);
    },
  );

  test.each(["America/New_York", "Asia/Kolkata"])(
    "date of a time without a zone is in UTC on a server in %s",
    (zone) => {
      const { TZ } = process.env;
      process.env.TZ = zone;
      try {
        expect(new Date(2026, 0, 1).getTimezoneOffset()).not.toBe(0);
        for (const [written, hour] of [
          ["2026-11-20T10:08:00", 10],
          ["2026-11-20 10:08:00", 10],
          ["2026-11-20 10:08:00.000", 10],
          ["2026-11-20 10:08 PM", 22],
          ["Fri, 20 Nov 2026 10:08:00", 10],
          ["20 Nov 2026 10:08", 10],
          ["2026-11-20T10:08:00+01:00", 9],
          ["2026-11-20 10:08:00 +01", 9],
          ["20 Nov 2026 10:08:00 +0100 (CET)", 9],
          ["20 Nov 2026 10:08 EST", 15],
          ["2026-11-20T10:08Z", 10],
        ] as const) {
          const expected = `2026-11-20T${String(hour).padStart(2, "0")}:08:00.000Z`;
          expect([written, HELPERS["date"]?.run(written)]).toEqual([written, expected]);
        }
        expect(HELPERS["date"]?.run("20 Nov 2026")).toBe("2026-11-20T00:00:00.000Z");
        expect(HELPERS["date"]?.run("2026-11")).toBe("2026-11-01T00:00:00.000Z");
      } finally {
        if (TZ === undefined) delete process.env.TZ;
        else process.env.TZ = TZ;
      }
    },
  );

  test("date takes a format", () => {
    expect(HELPERS["date"]?.run("2026-11-20T09:08:07Z", "DD.MM.YYYY HH:mm:ss")).toBe("20.11.2026 09:08:07");
    expect(HELPERS["date"]?.run("2026-11-20T09:08:07Z", "yyyy-MM-dd")).toBe("2026-11-20");
  });
});
