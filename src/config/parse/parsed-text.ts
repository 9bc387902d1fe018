/** A place in a file, both 1-based. */
export interface Position {
  line: number;
  column: number;
}

/** What a format's parser gives. A text with syntax problems has nothing else. */
export interface ParsedText {
  value: unknown;
  /** By dotted path. */
  positions: Map<string, Position>;
  duplicates: (Position & { key: string })[];
  syntax: (Partial<Position> & { message: string })[];
}
