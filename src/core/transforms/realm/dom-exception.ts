import { defineGlobal, nameObjects } from "./harden.ts";

/** Names by their code. https://webidl.spec.whatwg.org/#idl-DOMException-error-names */
const NAMES =
  " IndexSizeError  HierarchyRequestError WrongDocumentError InvalidCharacterError  NoModificationAllowedError NotFoundError NotSupportedError InUseAttributeError InvalidStateError SyntaxError InvalidModificationError NamespaceError InvalidAccessError  TypeMismatchError SecurityError NetworkError AbortError URLMismatchError QuotaExceededError TimeoutError InvalidNodeTypeError DataCloneError".split(
    " ",
  );

/** Adds `DOMException`. */
export function installDomException(): void {
  class DOMException extends Error {
    constructor(message: unknown = "", options: unknown = "Error") {
      super(String(message));
      const given: { name?: unknown; cause?: unknown } =
        typeof options === "object" && options !== null ? options : { name: options };
      Object.defineProperty(this, "name", { value: toName(given.name), writable: true, configurable: true });
      if ("cause" in given) {
        Object.defineProperty(this, "cause", { value: given.cause, writable: true, configurable: true });
      }
    }

    get code(): number {
      return this.name === "" ? 0 : Math.max(0, NAMES.indexOf(this.name));
    }
  }
  nameObjects("DOMException", DOMException);
  defineGlobal("DOMException", DOMException);
}

function toName(name: unknown = "Error"): string {
  return String(name);
}
