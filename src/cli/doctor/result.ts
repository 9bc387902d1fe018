/** What one check found. */
export interface CheckResult {
  /** What was checked, or the key of the configuration that is wrong. */
  name: string;
  /** note: it could not be checked, or is for information. */
  level: "ok" | "note" | "problem";
  message: string;
  /** What to do about a problem. */
  next?: string;
}

export function ok(name: string, message: string): CheckResult {
  return { name, level: "ok", message };
}

export function note(name: string, message: string): CheckResult {
  return { name, level: "note", message };
}

export function problem(name: string, message: string, next: string): CheckResult {
  return { name, level: "problem", message, next };
}
