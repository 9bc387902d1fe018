/** The YAML parser and writer. */
export { isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument, stringify, visit } from "yaml";
