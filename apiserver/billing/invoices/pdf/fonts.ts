import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { create, type Font } from "fontkit";

/** A font and what it can write. */
export interface WritingFont {
  font: Font;
  /** The text with every character that the font lacks replaced by U+FFFD: PDF/A permits none of them (ISO 19005-3, 6.2.11.8). */
  toWritable: (text: string) => string;
}

const REPLACEMENT = "\uFFFD";
const { resolve } = createRequire(import.meta.url);

/** Reads a font of DejaVu, which has the Latin, Greek and Cyrillic letters of every country in the European Union. */
export function readFont(name: "DejaVuSans" | "DejaVuSans-Bold"): WritingFont {
  const font = create(readFileSync(resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`))) as Font;
  const toWritableCharacter = (character: string) =>
    font.hasGlyphForCodePoint(character.codePointAt(0) ?? 0) ? character : REPLACEMENT;
  return { font, toWritable: (text) => Array.from(text.toWellFormed(), toWritableCharacter).join("") };
}
