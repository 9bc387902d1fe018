import type { SearchReader, TextSql } from "../search.ts";
import type { Sql } from "./database.ts";
import { createReader } from "./read.ts";
import { toPostgresText } from "./transaction.ts";

/** The database itself looks through the texts: bodies do not pass through this process. */
export function createSearchReader(sql: Sql, clockOffsetMs: number): SearchReader {
  return {
    ...createReader(sql, clockOffsetMs),
    key: "id",
    keyOfParts: "event_id",
    toTextSql,
  };
}

function toTextSql(text: string): TextSql {
  const forms = listForms(text).map(toEscaped);
  const isIn = (value: string, parameter: string, count: number): string =>
    Array.from({ length: count }, (_, index) => `strpos(${value}, (${parameter}::text[])[${index + 1}]) > 0`).join(
      " OR ",
    );
  // The letters of ASCII alone are many times as fast.
  const lower = (value: string): string => `lower(${value}${isAscii(text) ? ' COLLATE "C"' : ""})`;
  return {
    // A statement has to name all its values.
    ofText: (column) => `($3::text[] IS NOT NULL AND ${isIn(lower(column), "$2", 1)})`,
    // Other conversions fail at bytes that are no text.
    ofBytes: (column) =>
      `($2::text[] IS NOT NULL AND (${isIn(`lower(encode(${column}, 'escape') COLLATE "C")`, "$3", forms.length)}))`,
    values: [[toPostgresText(text.toLowerCase())], forms],
  };
}

const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);

/** As the text may stand in a body. The database folds the case of ASCII alone. */
function listForms(text: string): string[] {
  const cases = isAscii(text)
    ? [text]
    : [text, text.toLowerCase(), text.toUpperCase(), text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase()];
  const asJson = cases.map((form) => JSON.stringify(form).slice(1, -1));
  const asAscii = asJson.map((form) =>
    form.replaceAll(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
  const all = [...cases, ...asJson, ...asAscii].map((form) => (isAscii(text) ? form.toLowerCase() : form));
  return [...new Set(all)];
}

/** As `encode(…, 'escape')` writes bytes, in lower case. */
function toEscaped(text: string): string {
  return Array.from(Buffer.from(text), (byte) => {
    if (byte === 0 || byte >= 0x80) return `\\${byte.toString(8).padStart(3, "0")}`;
    return byte === 0x5c ? "\\\\" : String.fromCharCode(byte);
  })
    .join("")
    .toLowerCase();
}
