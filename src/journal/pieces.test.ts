import { describe, expect, test } from "vitest";
import * as fc from "../../test/support/property.ts";
import { fromPieces, toPieces } from "./pieces.ts";

const TITLE = "A title that is long enough to be a separate piece";
const BODY = Buffer.from(JSON.stringify({ id: 7, title: TITLE, note: "zwölf Äpfel, und noch ein paar mehr davon" }));

describe("a text as pieces of a source", () => {
  test("refers to what the source holds", () => {
    expect(toPieces(`${TITLE}!`, BODY)).toEqual([[BODY.indexOf(TITLE), TITLE.length], "!"]);
    expect(toPieces(`New: ${TITLE}`, BODY)).toEqual(["New: ", [BODY.indexOf(TITLE), TITLE.length]]);
  });

  test("is the text itself if the source holds nothing of it", () => {
    for (const text of ["", "short", "A text of which the source has not a single word, at least not 32 bytes"]) {
      expect(toPieces(text, BODY)).toBe(text);
    }
    expect(toPieces(TITLE, Buffer.of())).toBe(TITLE);
  });

  test("is found again, whatever text and source are", () => {
    const word = fc.constantFrom(
      "ä",
      "😀",
      "e\u0301",
      "\n",
      '"',
      "plain text ",
      TITLE,
      "zwölf Äpfel, und noch ein paar",
    );
    const anyText = fc
      .array(fc.oneof(word, fc.string({ unit: fc.anyCharacter })), { maxLength: 30 })
      .map((words) => words.join(""));
    const property = fc.property(anyText, anyText, fc.uint8Array(), (text, first, bytes) => {
      const source = Buffer.concat([bytes, Buffer.from(first), BODY, Buffer.from(text).subarray(1, -1)]);
      const stored = JSON.parse(JSON.stringify(toPieces(text, source)));
      expect(fromPieces(stored, source)).toBe(text);
    });
    fc.assert(property);
  });

  test("takes a bounded time for long texts that repeat little", () => {
    const text = Array.from({ length: 20_000 }, (_, index) => `${index}:`).join("");
    expect(toPieces(text, BODY)).toBe(text);
    expect(fromPieces(toPieces(TITLE.repeat(1000), BODY), BODY)).toBe(TITLE.repeat(1000));
  });
});
