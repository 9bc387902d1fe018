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
      const { name = "Error", ...more } =
        typeof options === "object" && options !== null
          ? (options as { name?: unknown; cause?: unknown })
          : { name: options };
      Object.defineProperty(this, "name", { value: String(name), writable: true, configurable: true });
      if ("cause" in more) {
        Object.defineProperty(this, "cause", { value: more.cause, writable: true, configurable: true });
      }
    }

    get code(): number {
      return this.name === "" ? 0 : Math.max(0, NAMES.indexOf(this.name));
    }
  }
  nameObjects("DOMException", DOMException);
  defineGlobal("DOMException", DOMException);
}
