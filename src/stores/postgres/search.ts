import type { SearchReader, TextSql } from "../../core/journal/search.ts";
import type { Sql } from "./database.ts";
import { createReader } from "./read.ts";

/** The database itself looks through the texts: bodies do not pass through this process. */
export function createSearchReader(sql: Sql, clockOffsetMs: number): SearchReader {
  return {
    ...createReader(sql, clockOffsetMs),
    toTextSql,
    toValuesSql,
  };
}

function toTextSql(text: string): TextSql {
  const forms = listForms(text).map((form) => toEscaped(form).toLowerCase());
  // The letters of ASCII alone are many times as fast.
  const lower = (value: string): string => `lower(${value}${isAscii(text) ? ' COLLATE "C"' : ""})`;
  return {
    // A statement has to name all its values.
    ofText: (column) => `($3::text[] IS NOT NULL AND ${isIn(lower(column), "$2", 1)})`,
    // Other conversions fail at bytes that are no text.
    ofBytes: (column) =>
      `($2::text[] IS NOT NULL AND ${once(`lower(encode(${column}, 'escape') COLLATE "C")`, isIn("decoded", "$3", forms.length))})`,
    values: [[text.toLowerCase()], forms],
  };
}

/** Bodies without these values stay in the database, unless their JSON has escapes that others would have left out. */
function toValuesSql(values: string[]): { sql: string; parameters: [string[]] } {
  const forms = values.flatMap((value) => [toEscaped(value), toEscaped(JSON.stringify(value).slice(1, -1))]);
  const hasValues = values.map((_, index) => `(${isIn("decoded", "$2", 2, 2 * index)})`).join(" AND ");
  const hasEscapes = isIn("decoded", "$2", OTHER_ESCAPES.length, forms.length);
  const decoded = `encode(body, 'escape') COLLATE "C"`;
  return {
    sql: once(decoded, `${hasValues} OR ${hasEscapes}`),
    parameters: [[...forms, ...OTHER_ESCAPES.map(toEscaped)]],
  };
}

const OTHER_ESCAPES = [String.raw`\u`, String.raw`\/`];

/** Tests the value `decoded`. PostgreSQL would read and decode a column again for each comparison. */
const once = (decoded: string, test: string): string =>
  `EXISTS (SELECT 1 FROM (SELECT ${decoded} AS decoded OFFSET 0) AS once WHERE ${test})`;

/** Whether one of `count` texts of a list is in the value. */
const isIn = (value: string, parameter: string, count: number, first = 0): string =>
  Array.from(
    { length: count },
    (_, index) => `strpos(${value}, (${parameter}::text[])[${first + index + 1}]) > 0`,
  ).join(" OR ");

const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);

/** Forms of the text in a body. The database folds the case of ASCII alone. */
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

/** Writes bytes like PostgreSQL's `encode(…, 'escape')`. */
function toEscaped(text: string): string {
  return Array.from(Buffer.from(text), (byte) => {
    if (byte === 0 || byte >= 0x80) return `\\${byte.toString(8).padStart(3, "0")}`;
    return byte === 0x5c ? "\\\\" : String.fromCharCode(byte);
  }).join("");
}
