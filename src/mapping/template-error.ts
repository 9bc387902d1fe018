/** A template that cannot be used; the message is a sentence for whoever wrote it. */
export class TemplateError extends Error {
  override name = "TemplateError";
  /** 1-based, within the template. */
  readonly line: number;
  /** The place with a caret below it, where it is known. */
  readonly excerpt: string | undefined;

  constructor(message: string, line: number, excerpt?: string) {
    super(message);
    this.line = line;
    this.excerpt = excerpt;
  }
}
