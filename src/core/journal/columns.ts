/** Columns by name. */
export type Row = Record<string, null | number | bigint | string | Uint8Array>;

type Column = Row[string] | undefined;

/* Columns get their types here. Each function throws on anything that this program did not write. */

export function text(column: Column): string {
  if (typeof column !== "string") throw unexpected("text", column);
  return column;
}

export function integer(column: Column): number {
  if (typeof column !== "number") throw unexpected("an integer", column);
  return column;
}

export function real(column: Column): number {
  if (typeof column !== "number") throw unexpected("a number", column);
  return column;
}

export function bytes(column: Column): Buffer {
  if (!(column instanceof Uint8Array)) throw unexpected("bytes", column);
  return Buffer.from(column.buffer, column.byteOffset, column.byteLength);
}

export function oneOf<Member extends string>(members: readonly Member[], column: Column): Member {
  const found = members.find((member) => member === column);
  if (found === undefined) throw unexpected(members.join(" or "), column);
  return found;
}

/** NULL is undefined; anything else is read by `read`. */
export function optional<Value>(read: (column: Column) => Value, column: Column): Value | undefined {
  return column === null ? undefined : read(column);
}

function unexpected(expected: string, column: Column): TypeError {
  return new TypeError(`a column holds ${typeof column}, expected ${expected}`);
}
