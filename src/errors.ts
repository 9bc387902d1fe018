/** What a caller may hear. The message never holds a piece of the body, a path, a stack or a secret. */
export class HookError extends Error {
  override name = "HookError";
  readonly status: number;
  /** snake_case, stable across versions. */
  readonly code: string;
  readonly headers: Record<string, string>;
  /** What the operator sees beside it, on the event: a transform's stack, its log. */
  readonly detail: unknown;

  constructor(
    status: number,
    code: string,
    message: string,
    options: { headers?: Record<string, string>; detail?: unknown; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.status = status;
    this.code = code;
    this.headers = options.headers ?? {};
    this.detail = options.detail;
  }
}

/** One thing the operator must mend. */
export interface ConfigProblem {
  /** What is wrong, what was expected, the next step. One sentence or two. */
  message: string;
  /** Absolute path. */
  file?: string;
  /** 1-based. */
  line?: number;
  /** 1-based. */
  column?: number;
  /** Dotted path of the key: `hooks.mappings[0].channel`. */
  key?: string;
  /** Several lines for a terminal: the source line with a caret, a mapped stack. */
  excerpt?: string;
}

/** Everything that keeps a configuration from being used, found in one load and reported together. */
export class ConfigError extends Error {
  override name = "ConfigError";
  readonly problems: ConfigProblem[];

  constructor(problems: ConfigProblem[]) {
    super(problems.map(toSentence).join("\n"));
    this.problems = problems;
  }
}

/** A failure of an agent or a channel. */
export class DriverError extends Error {
  override name = "DriverError";
  /** A plugin may bring its own copy of this class. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (super[Symbol.hasInstance](value)) return true;
    return this === DriverError && value instanceof Error && value.name === "DriverError" && "retryable" in value;
  }

  /** Whether another attempt can succeed. */
  readonly retryable: boolean;
  /** How long the service asked to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { retryable: boolean; retryAfterMs?: number; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Why a mailbox cannot be read. */
export class MailError extends Error {
  override name = "MailError";
  /** A plugin may hold a copy of this class of its own. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (super[Symbol.hasInstance](value)) return true;
    return this === MailError && value instanceof Error && value.name === "MailError" && "kind" in value;
  }

  /**
   * network: it may be there again at any moment · login: refused, an operator must mend it · tls: its server cannot be spoken
   * to safely, an operator must mend it · gone: there is no such mailbox or folder.
   */
  readonly kind: "network" | "login" | "tls" | "gone";

  constructor(kind: MailError["kind"], message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.kind = kind;
  }
}

/** The journal could not commit: nothing of what was asked has happened. */
export class JournalUnavailable extends Error {
  override name = "JournalUnavailable";
}

/** `file:line:column key: message` with the parts that are known. */
export function toSentence(problem: ConfigProblem): string {
  const place = [problem.file, problem.line, problem.column].filter((part) => part !== undefined).join(":");
  return [place, problem.key].filter(Boolean).join(" ") + (place || problem.key ? ": " : "") + problem.message;
}

/** The message of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
