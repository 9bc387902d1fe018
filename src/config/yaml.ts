/** The YAML parser and writer. */
export {
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  stringify,
  visit,
} from "yaml";
