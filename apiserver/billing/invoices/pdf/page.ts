import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Readable } from "node:stream";
import { create, type Font } from "fontkit";
import type PDFDocument from "pdfkit";
import type { Frame } from "./chart.ts";

/** A4, in points. */
const PAGE_WIDTH = 595.28;
export const PAGE_HEIGHT = 841.89;
export const MARGIN = 50;
export const WIDTH = PAGE_WIDTH - 2 * MARGIN;
export const RIGHT = PAGE_WIDTH - MARGIN;
export const ROW_HEIGHT = 13;
export const BODY_SIZE = 9;

export const COLORS = { text: "#1f2933", muted: "#66727f", rule: "#c5ccd3" };

/** Colors of resource types that people with a red-green color deficiency can distinguish (Okabe and Ito, 2008). */
const SERIES_COLORS = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#56b4e9",
  "#d55e00",
  "#cc79a7",
  "#f0e442",
  "#8c8c8c",
  "#44337a",
  "#000000",
  "#a6761d",
] as const;

export interface Fonts {
  regular: WritingFont;
  bold: WritingFont;
}

export interface Placement {
  x: number;
  y: number;
  width: number;
  /** How many lines the text may take, 1 by default; longer ones end with an ellipsis. */
  maxLines?: number;
  align?: "left" | "center" | "right";
  isBold?: boolean;
  size?: number;
  color?: string;
  /** What it is to a reader of the structure, `P` by default; an artifact is no part of it. */
  tag?: "P" | "H1" | "H2" | "TH" | "TD" | "artifact";
}

/** pdfkit's types lack it. */
const COLUMN_HEAD: object = { scope: "Column" };

/** An element of the structure that holds others. */
type Group = "Table" | "TR";

/**
 * What is drawn on the pages of a document. All of it is either in the structure (ISO 32000-1, 14.8), in the order of
 * drawing, or an artifact.
 */
export class PdfPage {
  private readonly document: InstanceType<typeof PDFDocument>;
  private readonly fonts: Fonts;
  /** The elements that are open, the outermost first. */
  private readonly open: PDFKit.PDFStructureElement[];
  private isInFigure = false;

  constructor(document: InstanceType<typeof PDFDocument>, fonts: Fonts) {
    this.document = document;
    this.fonts = fonts;
    const root = document.struct("Document");
    document.addStructure(root);
    this.open = [root];
  }

  /** Opens an element that holds what is written until its `end`. */
  begin(group: Group): void {
    const element = this.document.struct(group);
    this.open.at(-1)?.add(element);
    this.open.push(element);
  }

  /** Ends the element that was opened last; at last, the whole structure. */
  end(): void {
    this.open.pop()?.end();
  }

  /** What is drawn is one figure, which the text describes. */
  figure(alt: string, draw: () => void): void {
    const element = this.document.struct("Figure", { alt }, [
      () => {
        this.isInFigure = true;
        draw();
        this.isInFigure = false;
      },
    ]);
    this.open.at(-1)?.add(element);
  }

  private tagged(tag: NonNullable<Placement["tag"]>, draw: () => void): void {
    if (this.isInFigure) draw();
    else if (tag === "artifact") {
      this.document.markContent("Artifact");
      draw();
      this.document.endMarkedContent();
    } else this.open.at(-1)?.add(this.document.struct(tag, tag === "TH" ? COLUMN_HEAD : {}, [draw]));
  }

  /** Writes a text. Returns where the next row begins. */
  write(text: string, placement: Placement): number {
    const { x, y, width, align = "left", isBold = false, size = BODY_SIZE, color = COLORS.text } = placement;
    const { tag = "P" } = placement;
    const name = isBold ? "bold" : "regular";
    this.document.font(name).fontSize(size).fillColor(color);
    const lineHeight = this.document.currentLineHeight(true);
    const lineGap = Math.max(0, ROW_HEIGHT - lineHeight);
    // A point more than the last line, for the height is compared as a sum of fractions.
    const height = ((placement.maxLines ?? 1) - 1) * ROW_HEIGHT + lineHeight + 1;
    const options = { width, height, lineGap, align, ellipsis: true };
    this.tagged(tag, () => this.document.text(this.fonts[name].toWritable(text), x, y, options));
    return this.document.y;
  }

  /** Draws a horizontal line over the whole width. */
  rule(y: number): void {
    this.tagged("artifact", () =>
      this.document.moveTo(MARGIN, y).lineTo(RIGHT, y).lineWidth(0.5).strokeColor(COLORS.rule).stroke(),
    );
  }

  /** Fills a rectangle. */
  fill({ x, y, width, height }: Frame, color: string): void {
    this.tagged("artifact", () => this.document.rect(x, y, width, height).fillColor(color).fill());
  }

  seriesColor(index: number): string {
    return SERIES_COLORS[index % SERIES_COLORS.length] ?? COLORS.text;
  }

  /** Begins a new page. */
  next(): void {
    this.document.addPage();
  }
}

const JOINED_CHUNKS = 1000;

/**
 * Has a document pass on its bytes a thousand chunks at a time. pdfkit passes on each line, of an invoice of 10,000 lines
 * 220,000, and 55,000 of these at once at its end.
 */
export function joinChunks(document: InstanceType<typeof PDFDocument>): void {
  // pdfkit's types lack that it is a stream of Node.
  const stream = document as unknown as Pick<Readable, "push">;
  const push = stream.push.bind(document);
  let waiting: Uint8Array[] = [];
  stream.push = (chunk: Uint8Array | null) => {
    if (chunk !== null && waiting.push(chunk) < JOINED_CHUNKS) return true;
    push(Buffer.concat(waiting));
    waiting = [];
    return chunk !== null || push(null);
  };
}

/** A font and what it can write. */
interface WritingFont {
  font: Font;
  /**
   * The text with every character that the font lacks replaced by U+FFFD: PDF/A permits none of them (ISO 19005-3,
   * 6.2.11.8).
   */
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
