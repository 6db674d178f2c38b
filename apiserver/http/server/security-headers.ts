/** The headers of every response. Browsers ignore Strict-Transport-Security over plain HTTP (RFC 6797 section 8.1). */
export const SECURITY_HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
  "Content-Security-Policy": "frame-ancestors 'none'",
} as const;
