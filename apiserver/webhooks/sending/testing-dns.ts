import { once } from "node:events";
import { type AddressInfo, isIPv6 } from "node:net";
import { createTCPServer, createUDPServer, type DnsHandler, Packet } from "dns2";

/**
 * What a query gets: addresses, a failure of the server, or no answer at all. A name that is not known does not exist.
 */
export type DnsAnswer = readonly string[] | "failure" | "silence";

export interface DnsServer {
  /** As the resolver's `servers` takes it. */
  address: string;
  /** The names queried so far, A and AAAA each. */
  queries: string[];
  /** Changed while the server runs; `AAAA <name>` stands above the plain name for queries of that type. */
  names: Record<string, DnsAnswer>;
  close(): void;
}

const NXDOMAIN = 3;
const SERVFAIL = 2;

/** Starts a DNS server on a free port of loopback, by UDP and, for answers that are too long for it, by TCP. */
export async function startDnsServer(names: Record<string, DnsAnswer>): Promise<DnsServer> {
  const queries: string[] = [];
  const handle: DnsHandler = (request, send) => {
    const [question] = request.questions;
    if (question === undefined) return;
    const { name, type } = question;
    const ofIPv6 = type === Packet.TYPE.AAAA;
    queries.push(name);
    const found = (ofIPv6 ? names[`AAAA ${name}`] : undefined) ?? names[name];
    if (found === "silence") return;
    const response = Packet.createResponseFromRequest(request);
    if (found === undefined) response.header.rcode = NXDOMAIN;
    else if (found === "failure") response.header.rcode = SERVFAIL;
    else
      for (const address of found)
        if (isIPv6(address) === ofIPv6)
          response.answers.push(Packet.createResourceFromQuestion(question, { ttl: 0, address }));
    void send(response);
  };
  const tcp = createTCPServer(handle);
  tcp.listen(0, "127.0.0.1");
  await once(tcp, "listening");
  const { port } = tcp.address() as AddressInfo;
  const udp = createUDPServer(handle);
  await udp.listen(port, "127.0.0.1");
  return {
    address: `127.0.0.1:${port}`,
    queries,
    names,
    close() {
      udp.close();
      tcp.close();
    },
  };
}
