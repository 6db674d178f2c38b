import { expect, test } from "vitest";
import { AttemptError, classifyError } from "./error-class.ts";

const coded = (code: string, message = "") => Object.assign(new Error(message), { code });

test.each([
  [coded("ECONNREFUSED"), "connect"],
  [coded("ECONNRESET", "socket hang up"), "connect"],
  [coded("EPIPE"), "connect"],
  [coded("EHOSTUNREACH"), "connect"],
  [coded("ENETUNREACH"), "connect"],
  [coded("ETIMEDOUT"), "connect"],
  [coded("CERT_HAS_EXPIRED"), "tls"],
  [coded("DEPTH_ZERO_SELF_SIGNED_CERT"), "tls"],
  [coded("SELF_SIGNED_CERT_IN_CHAIN"), "tls"],
  [coded("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), "tls"],
  [coded("UNABLE_TO_GET_ISSUER_CERT_LOCALLY"), "tls"],
  [coded("ERR_TLS_CERT_ALTNAME_INVALID"), "tls"],
  [coded("ERR_SSL_WRONG_VERSION_NUMBER"), "tls"],
  [coded("ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE"), "tls"],
  [coded("EPROTO", "write EPROTO"), "tls"],
  [coded("ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL"), "protocol"],
  [coded("EPROTO", "SSL routines:ssl3_read_bytes:tlsv1 alert no application protocol"), "protocol"],
  [coded("HPE_INVALID_CONSTANT"), "protocol"],
  [coded("HPE_HEADER_OVERFLOW"), "protocol"],
  [new AttemptError("timeout", "no answer"), "timeout"],
  [new AttemptError("blocked_address", "refused"), "blocked_address"],
  [new AttemptError("dns", "no such name"), "dns"],
  [new AggregateError([coded("ECONNREFUSED"), coded("ENETUNREACH")]), "connect"],
])("%s is a failure of the endpoint: %s %s", (error, errorClass) => {
  expect(classifyError(error)).toBe(errorClass);
});

test.each([
  coded("EMFILE"),
  coded("ENFILE"),
  coded("ENOMEM"),
  coded("ENOBUFS"),
  coded("EADDRNOTAVAIL"),
  coded("ERR_INVALID_ARG_TYPE"),
  coded("ERR_INVALID_CHAR"),
  new AggregateError([coded("EMFILE"), coded("EMFILE")]),
  new AggregateError([]),
  new TypeError("x is not a function"),
  "text",
  undefined,
])("%s is a fault of this side and has no class", (error) => {
  expect(classifyError(error)).toBeUndefined();
});
