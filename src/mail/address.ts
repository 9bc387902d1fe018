/** A local part without quotes, since programs disagree about those, and a domain. */
const ADDRESS = /^[^\s@<>()[\]:;,"\\]+@[\p{L}\p{M}\p{N}.-]+$/u;
/** Quoted names and comments, which may contain anything. */
const QUOTED = /"(?:[^"\\]|\\.)*"|\((?:[^()\\]|\\.)*\)/g;
const MAX_FIELD_CHARACTERS = 2000;

/**
 * The address in the From or Reply-To fields of a mail, in lower case. Empty unless there is exactly one: another program, such as the server
 * that checks DMARC, could read an ambiguous field differently.
 */
export function toSender(fields: string[]): string {
  const [field = ""] = fields;
  if (fields.length !== 1 || field.length > MAX_FIELD_CHARACTERS) return "";
  const [phrase = "", bracketed, ...rest] = field.replaceAll(QUOTED, " ").split(/[<>]/);
  if (bracketed === undefined) return toAddress(phrase);
  const hasOther = rest.join("").trim() !== "" || (phrase.includes("@") && /[,;:]/.test(phrase));
  return rest.length !== 1 || hasOther ? "" : toAddress(bracketed);
}

function toAddress(text: string): string {
  const address = text.trim().toLowerCase();
  return ADDRESS.test(address) ? address : "";
}

/** Whether mail to both addresses arrives in one mailbox: a `+tag` is ignored, and of Gmail's own also dots and the domain's name. */
export function isSameMailbox(one: string, other: string): boolean {
  return normalize(one) === normalize(other);
}

function normalize(address: string): string {
  const [, local = "", domain = ""] = /^([^@+]*)(?:\+[^@]*)?@(.*)$/s.exec(address.toLowerCase()) ?? ["", address];
  const isGoogle = domain === "gmail.com" || domain === "googlemail.com";
  return isGoogle ? `${local.replaceAll(".", "")}@gmail.com` : `${local}@${domain}`;
}
