import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";

/** The prefix by which people and secret scanners recognize a token. */
export const TOKEN_PREFIX = "mar_";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 22;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const SECRET_BYTES = 32;
const TOKEN_PATTERN = /^[a-z]{3}_([0-9A-Za-z]{22})([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

export interface MintedToken {
  /** The whole token; returned once and never stored. */
  text: string;
  /** What is stored instead. */
  hash: string;
}

/**
 * Generates a token: `mar_`, its id (22 characters), 256 random bits (43) and a CRC-32 of everything before it (6), in
 * base 62, so that a double click or a scanner takes it as one word: `mar_[0-9A-Za-z]{71}`. Another prefix is for
 * another kind of secret.
 */
export function mintToken(id: string, prefix = TOKEN_PREFIX): MintedToken {
  const body =
    toTokenPrefix(id, prefix) +
    encode(BigInt(`0x${randomBytes(SECRET_BYTES).toString("hex")}`), SECRET_LENGTH);
  const text = body + checksum(body);
  return { text, hash: hashToken(text) };
}

/** The part of a token that identifies it and is no secret. */
export function toTokenPrefix(id: string, prefix = TOKEN_PREFIX): string {
  return prefix + encode(BigInt(`0x${id.replaceAll("-", "")}`), ID_LENGTH);
}

/** The id in a token; undefined for a typo, which the checksum reveals without a database query. */
export function parseTokenId(text: string, prefix = TOKEN_PREFIX): string | undefined {
  const id = TOKEN_PATTERN.exec(text)?.[1];
  if (id === undefined || !text.startsWith(prefix)) return undefined;
  const body = text.slice(0, -CHECKSUM_LENGTH);
  return checksum(body) === text.slice(-CHECKSUM_LENGTH) ? toUuid(decode(id)) : undefined;
}

/** SHA-256 in hexadecimal; a secret of 256 random bits needs no salt or slow hash. */
export function hashToken(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Compares a presented token with a stored hash, in constant time. */
export function matchesHash(text: string, hash: string): boolean {
  const expected = Buffer.from(hash, "hex");
  const presented = createHash("sha256").update(text).digest();
  return expected.length === presented.length && timingSafeEqual(expected, presented);
}

function checksum(body: string): string {
  return encode(BigInt(crc32(body)), CHECKSUM_LENGTH);
}

function encode(value: bigint, length: number): string {
  let digits = "";
  for (let rest = value; rest > 0n; rest /= 62n) digits = DIGITS.charAt(Number(rest % 62n)) + digits;
  return digits.padStart(length, "0");
}

function decode(digits: string): bigint {
  let value = 0n;
  for (const digit of digits) value = value * 62n + BigInt(DIGITS.indexOf(digit));
  return value;
}

function toUuid(value: bigint): string | undefined {
  const hex = value.toString(16).padStart(32, "0");
  if (hex.length > 32) return undefined;
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
