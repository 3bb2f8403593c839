// The words in which two sentences differ.

// Scripts without spaces between words: every character is compared, with the marks that combine with it.
const UNSPACED = "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}]";
const PIECE = new RegExp(`${UNSPACED}\\p{M}*|(?:(?!${UNSPACED}).)+`, "gsu");

/** Both sentences as parts, `{text, changed}`: the words of a longest common subsequence are not changed. */
export function changes(more, less) {
  const [first, second] = [words(more), words(less)];
  const [a, b] = [first, second].map((all) => all.map((word) => word.text));
  const longest = lengths(a, b);
  const marked = { more: [], less: [] };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { marked.more.push([first[i], false]); marked.less.push([second[j], false]); i += 1; j += 1; }
    else if (j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1])) { marked.more.push([first[i], true]); i += 1; }
    else { marked.less.push([second[j], true]); j += 1; }
  }
  return { more: parts(marked.more), less: parts(marked.less) };
}

/** `lengths[i][j]`: that of a longest common subsequence of the words from i and from j on. */
function lengths(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  }
  return table;
}

/** The words of a sentence, `{text, glue}`: what stands between a word and the one before. */
function words(sentence) {
  return sentence.split(" ").flatMap((word) => (word.match(PIECE) ?? [""]).map((text, at) => ({ text, glue: at ? "" : " " })));
}

function parts(marked) {
  const found = [];
  for (const [{ text, glue }, changed] of marked) {
    if (found.length && found.at(-1).changed === changed) found.at(-1).text += glue + text;
    else found.push({ text, changed });
  }
  return found;
}
