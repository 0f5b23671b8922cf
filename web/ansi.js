// Colours of a log. All other control sequences are left out.

/** Maximum number of characters of a line that are shown. */
const longest = 1 << 16;

/** Returns the visible part of a line: the text after the last carriage return. */
function visible(text) {
  let end = text.length;
  while (text[end - 1] === "\r") end -= 1;
  const shown = text.slice(text.lastIndexOf("\r", end - 1) + 1, end);
  return shown.length > longest ? `${shown.slice(0, longest)}…` : shown;
}

/** Splits a log, which arrives in pieces, into lines. A line is a list of `{text, classes}`. */
export class LogText {
  decoder = new TextDecoder();
  style = { colour: null, bold: false, dim: false, underline: false };
  rest = "";

  /** Adds a piece, and returns the lines that it completes. */
  add(bytes) {
    const lines = (this.rest + this.decoder.decode(bytes, { stream: true })).split("\n");
    const rest = lines.pop();
    // The line of a progress bar may never end, so invisible text is dropped early.
    this.rest = visible(rest) + (rest.endsWith("\r") ? "\r" : "");
    return lines.map((line) => this.line(line));
  }

  /** Returns the unfinished last line; null if there is none. */
  last() {
    return this.rest ? this.line(this.rest, { ...this.style }) : null;
  }

  line(text, style = this.style) {
    const shown = visible(text);
    const parts = [];
    let start = 0;
    const escape = /\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]?/g;
    const push = (piece) => {
      const clean = piece.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, "�");
      if (clean) parts.push({ text: clean, classes: this.classes(style) });
    };
    for (const match of shown.matchAll(escape)) {
      push(shown.slice(start, match.index));
      start = match.index + match[0].length;
      if (match[1] !== undefined) this.obey(match[1], style);
    }
    push(shown.slice(start));
    return parts;
  }

  obey(codes, style) {
    const numbers = codes.split(/[;:]/).map(Number);
    for (let index = 0; index < numbers.length; index += 1) {
      const code = numbers[index];
      if (code === 0) Object.assign(style, { colour: null, bold: false, dim: false, underline: false });
      else if (code === 1) style.bold = true;
      else if (code === 2) style.dim = true;
      else if (code === 4) style.underline = true;
      else if (code === 22) style.bold = style.dim = false;
      else if (code === 24) style.underline = false;
      else if (code >= 30 && code <= 37) style.colour = code - 30;
      else if (code >= 90 && code <= 97) style.colour = code - 90;
      else if (code === 39) style.colour = null;
      else if (code === 38 || code === 48) index += numbers[index + 1] === 5 ? 2 : 4;
    }
  }

  classes(style) {
    return [style.colour ? `f${style.colour}` : null, style.bold ? "b" : null, style.dim ? "d" : null, style.underline ? "u" : null].filter(Boolean).join(" ");
  }
}

export const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
