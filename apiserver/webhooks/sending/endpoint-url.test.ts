import { describe, expect, test } from "vitest";
import { createAddressGuard } from "./address-guard.ts";
import { findEndpointRefusal, findUrlRefusal } from "./endpoint-url.ts";
import { AttemptError } from "./error-class.ts";
import type { Resolver } from "./resolver.ts";

const REFUSED: Record<string, string[]> = {
  not_https: [
    "http://example.com",
    "HTTP://example.com",
    "ftp://example.com",
    "file:///etc/passwd",
    "wss://a.com",
  ],
  invalid_format: [
    "",
    "example.com",
    "//example.com",
    "https:example.com",
    "https:/example.com",
    "https://",
    "https:///",
    "https://exa mple.com",
    " https://example.com",
    "https://example.com ",
    "https://exam\tple.com",
    "https://example.com\n",
    "https://example.com/\u0000",
    "https:\\\\example.com",
    "https://example.com\\@127.0.0.1",
    "https://example.com./",
    "https://localhost./",
    "https://example.com:65536",
    "https://example.com:x",
    "https://[::1",
    "https://[fe80::1%25eth0]/",
    "https://1.2.3.4.5/",
    "https://256.1.1.1/",
    "https:///example.com/",
    "https:///@example.com/",
    "https:////user:pass@example.com/",
    "javascript:alert(1)",
    "data:text/plain,x",
  ],
  embedded_credentials: [
    "https://user@example.com",
    "https://user:pass@example.com",
    "https://:pass@example.com",
    "https://8.8.8.8@127.0.0.1/",
    "https://user%40@example.com",
    "https://@example.com/",
    "https://:@example.com/",
    "https://@@example.com/",
  ],
  out_of_range: ["https://example.com:0", "https://example.com:22", "https://a.com:80", "https://a.com:1023"],
};

const ACCEPTED = [
  "https://example.com",
  "HTTPS://Example.COM/Path?token=a%20b",
  "https://example.com:443/",
  "https://example.com:1024",
  "https://example.com:65535/x",
  "https://bücher.example/",
  "https://[2606:4700::1]:8443/",
  "https://8.8.8.8/hook",
  "https://example.com/@user:pass",
  "https://example.com?to=@user",
];

describe("rules of the URL", () => {
  test.each(Object.entries(REFUSED))("%s", (code, urls) => {
    expect(urls.map((url) => [url, findUrlRefusal(url)?.code])).toEqual(urls.map((url) => [url, code]));
  });

  test("accept what is a public https URL", () => {
    expect(ACCEPTED.map(findUrlRefusal)).toEqual(ACCEPTED.map(() => undefined));
  });

  test("have messages that follow the name of the field", () => {
    const messages = Object.values(REFUSED).flatMap((urls) =>
      urls.map((url) => findUrlRefusal(url)?.message),
    );
    expect(messages.filter((message) => !message?.startsWith("must "))).toEqual([]);
  });
});

/** Hosts that are a refused address in some notation. */
const PRIVATE_HOSTS = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "0x7f.1",
  "0x7f000001",
  "0X7F.0.0.1",
  "2130706433",
  "017700000001",
  "0177.0.0.1",
  "0177.0.0.01",
  "127.0.0.1.",
  "１２７.０.０.１",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "%31%32%37.0.0.1",
  "0",
  "0.0.0.0",
  "10.0.0.1",
  "012.0.0.1",
  "167772161",
  "172.16.0.1",
  "192.168.1.1",
  "3232235777",
  "169.254.169.254",
  "0xa9fea9fe",
  "2852039166",
  "169.16689662",
  "100.100.100.200",
  "168.63.129.16",
  "224.0.0.1",
  "255.255.255.255",
  "[::]",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b:1::8.8.8.8]",
  "[2002:7f00:1::]",
  "[fe80::1]",
  "[fd00:ec2::254]",
  "[ff02::1]",
  "localhost",
  "LOCALHOST",
  "hooks.localhost",
  "ｌｏｃａｌｈｏｓｔ",
  "kubernetes",
  "metadata",
  "metadata.google.internal",
  "hooks.corp.internal",
  "kubernetes.default.svc.cluster.local",
  "printer.local",
  "router.home.arpa",
  "apiserver.marina-system.svc",
  "SVC",
  "apiserver.marina-system.svc.cluster.local",
  "public.corp.internal",
  "intranet",
  "wiki.intranet",
  "nas.lan",
  "host.localdomain",
  "1.0.0.10.in-addr.arpa",
  "1.0.0.0.ip6.arpa",
  "api.platform.example.com",
  "x.API.platform.example.com",
  "private.example.com",
  "one-of-fifty.example.com",
];

describe("an endpoint", () => {
  const fifty = Array.from({ length: 50 }, (_, index) => `8.8.4.${index}`);
  const names: Record<string, string[]> = {
    "public.example.com": ["93.184.216.34", "2606:2800:220:1::1"],
    "private.example.com": ["10.0.0.1"],
    "one-of-fifty.example.com": fifty.with(37, "192.168.0.1"),
    "fifty.example.com": fifty,
    "hooks.allowed.internal": ["10.9.0.1"],
    "public.corp.internal": ["93.184.216.34"],
    "api.platform.example.com": ["93.184.216.34"],
    "xapi.platform.example.com": ["93.184.216.34"],
    localhost: ["127.0.0.1", "::1"],
    "hooks.localhost": ["127.0.0.1", "::1"],
  };
  const resolver: Resolver = {
    resolve(name) {
      const addresses = names[name];
      if (addresses === undefined) return Promise.reject(new AttemptError("dns", "there is no such name"));
      return Promise.resolve(addresses);
    },
  };
  const check = (url: string, allowed: string[] = []) =>
    findEndpointRefusal(url, { guard: createAddressGuard({ allowed }), resolver, blockedNames });
  const blockedNames = ["api.platform.example.com"];

  test.each(PRIVATE_HOSTS)("at %s is refused", async (host) => {
    const refusal = await check(`https://${host}/hook`);
    expect(refusal?.code).toBe("private_address");
    expect(refusal?.message).toBe("must not point at a private or internal address");
  });

  test.each([
    "8.8.8.8",
    "[2606:4700::1]",
    "public.example.com",
    "fifty.example.com",
    "xapi.platform.example.com",
  ])("at %s is accepted", async (host) => {
    expect(await check(`https://${host}/hook`)).toBeUndefined();
  });

  test("is accepted while its name does not resolve, for its address is checked at every connection", async () => {
    expect(await check("https://not-yet.example.com/")).toBeUndefined();
  });

  test("is accepted at a name of a private network whose addresses the installation allows", async () => {
    expect(await check("https://hooks.allowed.internal/", ["10.9.0.0/16"])).toBeUndefined();
    expect(await check("https://localhost:8443/", ["127.0.0.1", "::1"])).toBeUndefined();
    expect(await check("https://hooks.corp.internal/", ["10.9.0.0/16"])).toMatchObject({
      code: "private_address",
    });
  });

  test("that breaks a rule of the URL is refused by that rule", async () => {
    expect(await check("http://127.0.0.1/")).toMatchObject({ code: "not_https" });
  });

  test("is not accepted when the resolver itself is at fault", async () => {
    const broken: Resolver = { resolve: () => Promise.reject(new TypeError("broken")) };
    const checked = findEndpointRefusal("https://example.com", {
      guard: createAddressGuard({}),
      resolver: broken,
      blockedNames,
    });
    await expect(checked).rejects.toThrow("broken");
  });
});
