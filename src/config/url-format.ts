const PORT_AND_PATH = String.raw`(?::\d{2,5})?(?:\/\S*)?`;

/** An IPv4 address that is not private. */
const PUBLIC_ADDRESS = [
  String.raw`(?!(?:10|127)(?:\.\d{1,3}){3})(?!(?:169\.254|192\.168)(?:\.\d{1,3}){2})(?!172\.(?:1[6-9]|2\d|3[0-1])(?:\.\d{1,3}){2})`,
  String.raw`(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}(?:\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4]))`,
].join("");

const LABEL = String.raw`(?:[a-z0-9\u{a1}-\u{ffff}]+-)*[a-z0-9\u{a1}-\u{ffff}]+`;
const NAME = String.raw`${LABEL}(?:\.${LABEL})*\.[a-z\u{a1}-\u{ffff}]{2,}`;

/**
 * The format `url` as `ajv-formats` has it, but for what may stand before the `@`: there it tries each way to cut a long
 * text into user and password, which takes the square of its length.
 */
export const URL_FORMAT = new RegExp(
  String.raw`^(?:https?|ftp):\/\/(?:[^\s/?#]+@)?(?:${PUBLIC_ADDRESS}|${NAME})${PORT_AND_PATH}$`,
  "iu",
);
