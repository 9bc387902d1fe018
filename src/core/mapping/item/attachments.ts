import type { MappingInput } from "../../config/schema/generated.ts";
import { readPath } from "../../shared/json.ts";
import { toOneLine } from "../../shared/text/text.ts";
import type { FileRef } from "../../types.ts";
import type { Diagnostics } from "../diagnostics.ts";
import { type Budget, compileField, type Template } from "../template/template.ts";

type Written = NonNullable<MappingInput["attachments"]>[number];

const FIELDS = ["name", "type", "size", "url", "id", "mailbox", "images"] as const;

/** One item of a mapping's `attachments`. */
export interface CompiledFiles extends Pick<Written, "hosts"> {
  /** Where the files are in the payload. Empty: all of it is one. */
  each: string[];
  last: boolean;
  /** Where their bytes are in each, in base64. */
  content: string[] | undefined;
  templates: Partial<Record<(typeof FIELDS)[number], Template>>;
}

/** Undefined unless the agent is given files. */
export function compileFiles(
  { files, attachments }: MappingInput,
  diagnostics: Diagnostics,
): CompiledFiles[] | undefined {
  if (files === true && !attachments)
    diagnostics.problem("files", "Nothing says where the files of an event are. Add attachments, or leave files out.");
  if (!files) return undefined;
  return attachments?.map(({ each, last = false, hosts, content, ...written }, index) => {
    const at = `attachments[${index}]`;
    if (![written.url, written.id, written.images, content].some(Boolean))
      diagnostics.problem(at, "Nothing says what is read. Add url, id, images or content.");
    const templates: CompiledFiles["templates"] = {};
    for (const field of FIELDS)
      if (written[field] !== undefined) templates[field] = compileField(`${at}.${field}`, written[field], diagnostics);
    return { each: toKeys(each), last, hosts, content: content === undefined ? undefined : toKeys(content), templates };
  });
}

function toKeys(path = ""): string[] {
  return path.split(".").filter((key) => key !== "");
}

/** More than are read, so that the rest can be named. */
const MAX_FILES = 20;
const MAX_ADDRESS = 2000;
const MAX_NAME = 200;

interface RenderOptions {
  /** The fields that templates see. */
  context: object;
  payload: unknown;
  /** The payload is that of the event: where `forEach` narrows it, files in it have other places. */
  isWhole: boolean;
  place: { channel: string; to: string } | undefined;
  /** Others can see the place of the event. */
  isPublic: boolean;
  budget: Budget;
}

/** The files of one item, without their bytes. What the sender says of them is outside text. */
export function renderFiles(entries: readonly CompiledFiles[], options: RenderOptions): FileRef[] {
  const { place, isPublic } = options;
  const about = { ...(place && { channel: place.channel, to: place.to }), ...(isPublic && { isPublic }) };
  const found = entries.flatMap((entry) => renderEntry(entry, options));
  const known = new Set<string>();
  return found
    .filter((file) => {
      const key = file.url ?? file.id ?? JSON.stringify(file.content);
      const isNew = !known.has(key);
      known.add(key);
      return isNew;
    })
    .slice(0, MAX_FILES)
    .map((file) => ({ ...file, ...about }));
}

function renderEntry(
  { each, last, hosts, content, templates }: CompiledFiles,
  { context, payload, isWhole, budget }: RenderOptions,
): FileRef[] {
  const value = each.length === 0 ? context : readPath(context, each);
  const items = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  const indexed = Array.from(items, (item: unknown, index) => ({ item, index }));
  const used = last ? indexed.slice(-1) : indexed;
  return used.slice(0, MAX_FILES).flatMap(({ item, index }): FileRef[] => {
    const scope = each.length === 0 ? context : { ...context, item };
    const render = (field: (typeof FIELDS)[number]): string => templates[field]?.render(scope, budget).trim() ?? "";
    const images = render("images");
    if (images !== "") return findImages(images).map((url) => ({ name: nameOf(url), url, ...(hosts && { hosts }) }));
    const url = render("url");
    const ids = render("id")
      .split(/[\s,]+/)
      .filter((id) => id !== "");
    // A list of ids says nothing else of its files.
    if (ids.length > 1) return ids.map((id) => ({ name: "file", id, ...(hosts && { hosts }) }));
    const [id = ""] = ids;
    const at = content && [...each, ...(Array.isArray(value) ? [String(index)] : []), ...content];
    const hasContent = isWhole && at !== undefined && typeof readPath(payload, at) === "string";
    if ((url === "" && id === "" && !hasContent) || url.length > MAX_ADDRESS || id.length > MAX_ADDRESS) return [];
    const size = Number(render("size"));
    const mailbox = toOneLine(render("mailbox"), MAX_NAME);
    return [
      {
        name: toFileName(render("name")) || nameOf(url),
        ...(render("type") !== "" && { type: toFileName(render("type")) }),
        ...(Number.isSafeInteger(size) && size > 0 && { size }),
        ...(url !== "" && { url }),
        ...(id !== "" && { id }),
        ...(id !== "" && mailbox !== "" && { mailbox }),
        ...(hasContent && url === "" && id === "" && { content: at }),
        ...(hosts && { hosts }),
      },
    ];
  });
}

function nameOf(url: string): string {
  const path = url.split(/[?#]/, 1)[0] ?? "";
  return toFileName(path.slice(path.lastIndexOf("/") + 1)) || "file";
}

/** Without characters that nobody sees, or that turn the others around. */
function toFileName(name: string): string {
  return toOneLine(name.replaceAll(/\p{Cf}/gu, ""), MAX_NAME);
}

/** Addresses of pictures in Markdown or HTML. */
function findImages(text: string): string[] {
  const found = text.matchAll(
    /!\[[^\]]{0,500}\]\(\s*<?([^\s)>]{1,2000})|<img\b[^>]{0,1000}?\bsrc\s*=\s*["']?([^\s"'>]{1,2000})/gi,
  );
  return Array.from(found, ([, markdown, html]) => markdown ?? html ?? "").slice(0, MAX_FILES);
}

/** Names, types and sizes of files, for a message that does not say them. */
export function describeUnnamed(files: readonly FileRef[], message: string): string {
  const missing = files.filter(({ name }) => !message.includes(name));
  if (missing.length === 0) return "";
  const lines = missing.map(({ name, type, size }) =>
    ["-", name, ...[type, size && `${size} bytes`].filter(Boolean).map((fact) => `(${String(fact)})`)].join(" "),
  );
  return `\n\nFiles:\n${lines.join("\n")}`;
}
