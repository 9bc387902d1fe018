/** What a rule has to say about one key of the configuration. */
export interface Finding {
  level: "error" | "warning";
  /** Dotted path in `file`. */
  key: string;
  message: string;
  /** Where it is not the configuration's own: a preset's. */
  file?: string;
}

export function error(key: string, message: string): Finding {
  return { level: "error", key, message };
}

export function warning(key: string, message: string): Finding {
  return { level: "warning", key, message };
}
