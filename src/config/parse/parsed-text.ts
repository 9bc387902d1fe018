/** A place in a file, both 1-based. */
export interface Position {
  line: number;
  column: number;
}

/** A parser's result. With syntax problems the rest is empty. */
export interface ParsedText {
  value: unknown;
  /** By dotted path. */
  positions: Map<string, Position>;
  duplicates: (Position & { key: string })[];
  syntax: (Partial<Position> & { message: string })[];
}
