import { compile } from "html-to-text";

/** A mail in HTML may be of any length; what stands beyond this is left out. */
const MOST_CHARACTERS = 500_000;

const HIDDEN = [
  '[style*="display:none" i]',
  '[style*="display: none" i]',
  '[style*="visibility:hidden" i]',
  '[style*="visibility: hidden" i]',
  '[style*="mso-hide:all" i]',
  "[hidden]",
];

const convert = compile({
  wordwrap: false,
  limits: { maxInputLength: MOST_CHARACTERS, maxDepth: 200, ellipsis: "" },
  selectors: [
    ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, options: { uppercase: false } })),
    { selector: "a", options: { hideLinkHrefIfSameAsText: true, noAnchorUrl: true } },
    { selector: "img", format: "skip" },
    ...HIDDEN.map((selector) => ({ selector, format: "skip" })),
  ],
});

/** The text of a mail in HTML: links in brackets behind their words, nothing that the reader would not see. */
export function htmlToText(html: string): string {
  return convert(html.slice(0, MOST_CHARACTERS));
}
