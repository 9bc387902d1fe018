/** A line that a transform wrote to its `console`. */
export interface LogLine {
  level: "debug" | "log" | "info" | "warn" | "error";
  text: string;
}

/** For what is likely over in a moment. */
const RETRY_SOON = { "Retry-After": "1" };

/**
 * Every error that a caller can get: its code is stable across versions; status, sentence and headers are what is sent
 * unless the code that throws it says more.
 */
export const HTTP_ERRORS = {
  bad_request: { status: 400, message: "This is not a valid HTTP request." },
  empty_message: { status: 400, message: "The message is blank." },
  invalid_encoding: { status: 400, message: "The body does not match its Content-Encoding." },
  invalid_form: { status: 400, message: "The form is malformed." },
  invalid_idempotency_key: { status: 400, message: "The idempotency key is invalid." },
  invalid_json: { status: 400, message: "The body is not valid JSON." },
  invalid_mapping: { status: 400, message: "The mapping cannot be used." },
  invalid_payload: { status: 400, message: "The payload is invalid." },
  invalid_query: { status: 400, message: "A query parameter is invalid." },
  invalid_utf8: { status: 400, message: "The body is not valid UTF-8." },
  invalid_xml: { status: 400, message: "The body is not valid XML." },
  model_not_allowed: { status: 400, message: "model is not on the list of allowed models." },
  session_key_refused: { status: 400, message: "sessionKey is not allowed." },
  unsafe_content_refused: { status: 400, message: "allowUnsafeExternalContent can only be set in the mapping." },
  unauthorized: {
    status: 401,
    message: "The token is missing or wrong.",
    headers: { "WWW-Authenticate": "Bearer" },
  },
  forbidden: { status: 403, message: "This request is not allowed." },
  not_found: { status: 404, message: "Not found." },
  method_not_allowed: { status: 405, message: "This method is not allowed here." },
  request_timeout: { status: 408, message: "The request did not arrive in time." },
  already_decided: { status: 409, message: "This question was decided before." },
  decision_refused: { status: 409, message: "This question cannot be decided like this." },
  no_stored_body: { status: 409, message: "The body of this event was not stored, so the event cannot be replayed." },
  too_many_recordings: { status: 409, message: "Too many recordings are kept." },
  changed_on_disk: { status: 409, message: "A file has changed meanwhile. Nothing was written." },
  run_ended: { status: 409, message: "This turn has ended already." },
  reload_refused: { status: 422, message: "The configuration was not loaded. The one before stays in use." },
  body_too_large: { status: 413, message: "The body is too large." },
  fan_out_too_large: { status: 413, message: "This request would result in too many actions." },
  payload_too_large: { status: 413, message: "The rendered text exceeds the limit." },
  unsupported_encoding: {
    status: 415,
    message: "This Content-Encoding is not supported. Send gzip, deflate, br or none.",
    headers: { "Accept-Encoding": "gzip, deflate, br" },
  },
  unsupported_media_type: { status: 415, message: "This content type is not supported." },
  idempotency_conflict: { status: 422, message: "This idempotency key was already used with different content." },
  too_many_failures: { status: 429, message: "Too many failed credentials from this address." },
  too_many_requests: { status: 429, message: "Too many requests. Try again soon.", headers: RETRY_SOON },
  headers_too_large: { status: 431, message: "The request's headers are too large." },
  internal_error: { status: 500, message: "Internal server error." },
  sender_refused: { status: 502, message: "The sender's API refused the request." },
  transform_failed: { status: 500, message: "The transform of this hook failed." },
  draining: { status: 503, message: "The service is shutting down. Try again soon.", headers: { "Retry-After": "5" } },
  journal_unavailable: { status: 503, message: "The event could not be stored. Try again.", headers: RETRY_SOON },
  overloaded: { status: 503, message: "The service is overloaded. Try again soon.", headers: RETRY_SOON },
  unavailable: { status: 503, message: "The service is unavailable. Try again soon.", headers: RETRY_SOON },
} satisfies Record<string, HttpErrorEntry>;

interface HttpErrorEntry {
  status: number;
  message: string;
  headers?: Record<string, string>;
}

/** The `code` of an answer, as the reference of HTTP errors lists them. */
export type HookErrorCode = keyof typeof HTTP_ERRORS;

/** Details for the operator from the mapping step. They are stored on the event, and the caller does not see them. */
export interface HookErrorDetail {
  /** The id of the mapping. */
  mapping?: string;
  /** The error of a transform. */
  message?: string;
  /** Begins with the message. */
  trace?: string;
  log?: LogLine[];
}

/** Differences from the table of errors. */
export interface HookErrorOptions {
  /** Replaces the sentence of the table. It never holds a piece of the body, a path, a stack or a secret. */
  message?: string;
  /** Added to the headers of the table. */
  headers?: Record<string, string>;
  detail?: HookErrorDetail;
  cause?: unknown;
}

/** An error that is sent to the caller. */
export class HookError extends Error {
  override name = "HookError";
  readonly status: number;
  readonly code: HookErrorCode;
  readonly headers: Record<string, string>;
  readonly detail: HookErrorDetail;

  constructor(code: HookErrorCode, { message, headers, detail = {}, cause }: HookErrorOptions = {}) {
    const known: HttpErrorEntry = HTTP_ERRORS[code];
    // No stack: this is an answer, not a fault. Nobody reads its stack, which costs more than all the rest of a
    // refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message ?? known.message, cause === undefined ? undefined : { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.status = known.status;
    this.code = code;
    this.headers = { ...known.headers, ...headers };
    this.detail = detail;
  }
}

export function bodyTooLarge(maxBytes: number, headers?: Record<string, string>): HookError {
  return new HookError("body_too_large", { message: `The body is over the limit of ${maxBytes} bytes.`, headers });
}

/** Turns any error into the one that the caller gets; an unexpected error becomes a 500 that reveals nothing. */
export function toHookError(error: unknown): HookError {
  if (error instanceof HookError) return error;
  return new HookError(error instanceof JournalUnavailable ? "journal_unavailable" : "internal_error", {
    cause: error,
  });
}

/** One problem that the operator has to fix. */
export interface ConfigProblem {
  /** The mistake, the expected value and the fix, in one or two sentences. */
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

/** A problem before it has its place. */
export interface FoundProblem extends ConfigProblem {
  /** Another key of the configuration that the message names, by the key or by `text`. Its place is added to the message. */
  other?: { key: string; text?: string };
}

/** Where files may appear that become parts of a configuration. */
export interface PartPlaces {
  /** Absolute. They may not exist. */
  folders: string[];
  /** Whether a file there is a part. */
  isPart(file: string): boolean;
}

/** All problems of a configuration that cannot be used, reported together. */
export class ConfigError extends Error {
  override name = "ConfigError";
  readonly problems: ConfigProblem[];
  /** Files that were read or looked for, and that the problems are in, absolute: a change of one may fix them. */
  readonly files: string[];
  /** Where a new file may fix them. @internal */
  parts?: PartPlaces;

  constructor(problems: ConfigProblem[], files: string[] = []) {
    super(problems.map(toSentence).join("\n"));
    this.problems = problems;
    this.files = [...files, ...problems.flatMap(({ file }) => file ?? [])];
  }
}

/**
 * The model's part in a failed call. too-long: the prompt does not fit · unavailable: the service is overloaded or
 * cannot be reached · quota: the paid quota is used up · unknown-model: the service does not have it.
 */
export type ModelFailure = "too-long" | "images" | "unavailable" | "quota" | "unknown-model";

/** A failure of an agent or a channel. */
export class DriverError extends Error {
  override name = "DriverError";
  /** A plugin may bring its own copy of this class. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return super[Symbol.hasInstance](value) || (this === DriverError && looksLike(value, "DriverError", "retryable"));
  }

  /** Whether another attempt can succeed. */
  readonly retryable: boolean;
  /** How long the service asked to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** If an agent failed: why another model or a shorter prompt may succeed where this one failed. */
  readonly modelFailure: ModelFailure | undefined;
  /** Sentences for the record of the attempt, about what came before the failure. */
  warnings?: readonly string[];

  constructor(message: string, options: DriverErrorOptions) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
    this.modelFailure = options.modelFailure;
  }
}

/** Says what the service does after a failure. */
export interface DriverErrorOptions {
  retryable: boolean;
  retryAfterMs?: number;
  modelFailure?: ModelFailure;
  cause?: unknown;
}

/** Adds what came before a failure to its error. */
export function withWarnings(error: unknown, warnings: readonly string[]): unknown {
  if (error instanceof DriverError && warnings.length > 0) error.warnings = [...warnings, ...(error.warnings ?? [])];
  return error;
}

/** The configuration in use has no such provider or channel. That of another node may. */
export class NotConfigured extends DriverError {
  constructor(message: string) {
    super(message, { retryable: false });
  }
}

/** Why a mailbox cannot be read. */
export class MailError extends Error {
  override name = "MailError";
  /** A plugin may bring its own copy of this class. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return super[Symbol.hasInstance](value) || (this === MailError && looksLike(value, "MailError", "kind"));
  }

  /**
   * network: may be over at any moment · login: refused · tls: no safe connection to the server · gone: the mailbox or
   * folder does not exist. An operator has to fix all but the first.
   */
  readonly kind: "network" | "login" | "tls" | "gone";

  constructor(kind: MailError["kind"], message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.kind = kind;
  }
}

/** The journal could not commit, so the operation has had no effect. */
export class JournalUnavailable extends Error {
  override name = "JournalUnavailable";
}

export type TransformFailureKind =
  | "threw"
  | "timeout"
  | "memory"
  | "unsettled"
  | "bad_result"
  | "bad_payload"
  | "crashed"
  | "unavailable";

/** A transform call that gave no result. The operator sees all of it, the caller of the hook nothing. */
export class TransformError extends Error {
  override name = "TransformError";
  readonly kind: TransformFailureKind;
  readonly log: LogLine[];
  /** The stack in TypeScript positions, only the author's frames, with the source line and a caret where known. */
  readonly trace: string;
  /** If the circuit breaker is open: for how long. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: TransformFailureKind,
    message: string,
    options: { log?: LogLine[]; trace?: string; retryAfterMs?: number } = {},
  ) {
    super(message);
    this.kind = kind;
    this.log = options.log ?? [];
    this.trace = options.trace ?? "";
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** `file:line:column key: message` with the parts that are known. */
export function toSentence(problem: ConfigProblem): string {
  const place = [problem.file, problem.line, problem.column].filter((part) => part !== undefined).join(":");
  return [place, problem.key].filter(Boolean).join(" ") + (place || problem.key ? ": " : "") + problem.message;
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The `code` of an error of Node or of a library, such as `ENOENT`. */
export function codeOf(thrown: unknown): string | number | undefined {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" || typeof code === "number" ? code : undefined;
}

function looksLike(value: unknown, name: string, field: string): boolean {
  return value instanceof Error && value.name === name && field in value;
}
