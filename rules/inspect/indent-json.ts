// JSON with its lines indented, as the inspector shows and compares it. The text may come from a stranger.

/** A text that nests deeply grows a thousandfold by its indent: 16 kB of brackets to 134 MB, and more of them end the page. */
const maxBytes = 8 * 1024 * 1024;

/** Undefined if the text is no JSON, such as a cut body, or would be longer than the limit. */
export function indentJson(text: string): string | undefined {
  if (indentedBytes(text) > maxBytes) return undefined;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return undefined;
  }
}

/** An upper bound: brackets and commas inside texts count as well. */
function indentedBytes(json: string): number {
  let bytes = json.length;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const mark = json[at];
    if (mark === '[' || mark === '{') depth++;
    else if (mark === ']' || mark === '}') depth--;
    else if (mark !== ',') continue;
    bytes += 2 * depth + 1;
  }
  return bytes;
}
