/** A rule's result about one key. */
export interface Finding {
  level: "error" | "warning";
  /** Dotted path in `file`. */
  key: string;
  message: string;
  /** A preset's file. Default: the configuration's own. */
  file?: string;
}

export function error(key: string, message: string): Finding {
  return { level: "error", key, message };
}

export function warning(key: string, message: string): Finding {
  return { level: "warning", key, message };
}
