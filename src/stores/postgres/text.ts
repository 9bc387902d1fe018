/** A value for `json_to_recordset`. */
export function toJson(rows: readonly object[]): string {
  const json = JSON.stringify(rows);
  return UNSUPPORTED_ESCAPE.test(json) ? JSON.stringify(rows, clean) : json;
}

/** Escapes of NUL and of lone surrogates. Well-formed pairs are not escaped. */
const UNSUPPORTED_ESCAPE = /\\u(?:0000|d[89a-f])/;

function clean(_key: string, value: unknown): unknown {
  return typeof value === "string" ? toPostgresText(value) : value;
}

/** PostgreSQL's text cannot hold NUL, and UTF-8 no lone surrogate: each becomes a visible sign. */
export function toPostgresText(value: string): string {
  if (value.isWellFormed() && !value.includes("\0")) return value;
  return value.toWellFormed().replaceAll("\0", "␀");
}
