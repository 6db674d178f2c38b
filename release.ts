import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readOptions } from "./e2e/platform/programs/options.ts";
import { createProgress, reportWhile } from "./e2e/platform/stack/progress.ts";
import { APP } from "./image.ts";
import {
  ARCHITECTURES,
  type Architecture,
  requireArchitecture,
  run,
  writeProgramsLayer,
  writeScannerLayers,
} from "./release-layers.ts";

const ROOT = import.meta.dirname;
const CHARTS = ["marina", "marina-classes"];
const BASE = "gcr.io/distroless/nodejs24-debian12:nonroot";
/** The images, each with its command and what it is; "marina-scanner" has grype besides. */
const IMAGES = {
  marina: {
    command: "apiserver",
    description: "A managed-Kubernetes service on a management cluster that runs Cluster API",
  },
  "marina-scanner": {
    command: "scanner",
    description: "The scanner of images of a managed-Kubernetes service",
  },
} as const;
type ImageName = keyof typeof IMAGES;

export interface ReleaseOptions {
  /** Host, and path if any, below which image and charts are: `registry.example.com/marina`. */
  registry: string;
  /** The image with Node for each platform. */
  base?: string;
  /** Paths of grype by platform; without them Go builds it for each. */
  grype?: Readonly<Record<Architecture, string>>;
  /** Where layers, charts, OCI layouts, notes and the commands of signing are written. */
  folder?: string;
  /** The registry speaks http. */
  isPlainHttp?: boolean;
  /** Signs what was pushed, with cosign; without, the commands are only written. */
  signs?: boolean;
  /** The private key that signs, as cosign names keys (a file, `awskms://…`); without it cosign asks its public authority. */
  key?: string;
  log?(line: string): void;
}

/** What a release consists of, each with its digest. */
export interface Release {
  version: string;
  image: string;
  scanner: string;
  charts: string[];
  /** The commands that sign it. */
  signing: string[][];
}

/**
 * Pushes the images for each platform and the charts with the version of package.json, writes each as an OCI layout below
 * `oci/` of the folder, and signs them. Needs crane, helm, GNU tar, Go for grype and, to sign, cosign on the PATH. Equal
 * sources make equal layers. Throws before anything is pushed when a chart has another version, the changelog has no section for
 * it, or the base image or grype is none for a platform.
 */
export async function release(options: ReleaseOptions): Promise<Release> {
  const {
    registry,
    base = BASE,
    folder = join(ROOT, "release"),
    isPlainHttp = false,
    signs = false,
  } = options;
  const log = options.log ?? (() => undefined);
  const version: string = JSON.parse(read("package.json")).version;
  const notes = findNotes(read("CHANGELOG.md"), version);
  for (const chart of CHARTS) requireVersion(read(join("charts", chart, "Chart.yaml")), version, chart);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "oci"), { recursive: true });
  writeFileSync(join(folder, "notes.md"), notes);
  const insecure = isPlainHttp ? ["--insecure"] : [];

  for (const architecture of ARCHITECTURES) {
    log(`checking Node of ${base} for ${architecture}`);
    await requireArchitecture(folder, base, architecture, insecure);
  }
  const programs = await writeProgramsLayer(folder);
  const scanners = await writeScannerLayers(folder, options.grype, log);
  const push = (name: ImageName, layersOf: (architecture: Architecture) => string[]) =>
    pushImage({ name, image: `${registry}/${name}`, version, base, insecure, layersOf, log });
  const image = await push("marina", () => [programs]);
  const scanner = await push("marina-scanner", (architecture) => [programs, scanners[architecture]]);

  const charts: string[] = [];
  for (const chart of CHARTS) {
    await run("helm", ["package", join(ROOT, "charts", chart), "--destination", folder]);
    const plain = isPlainHttp ? ["--plain-http"] : [];
    const packaged = join(folder, `${chart}-${version}.tgz`);
    await run("helm", ["push", packaged, `oci://${registry}/charts`, ...plain]);
    const name = `${registry}/charts/${chart}`;
    charts.push(`${name}@${await run("crane", ["digest", ...insecure, `${name}:${version}`])}`);
    log(`pushed ${charts.at(-1)}`);
  }
  for (const name of [...Object.keys(IMAGES), ...CHARTS.map((chart) => `charts/${chart}`)]) {
    const layout = join(folder, "oci", ...name.split("/"));
    mkdirSync(layout, { recursive: true });
    await run("crane", ["pull", ...insecure, "--format=oci", `${registry}/${name}:${version}`, layout]);
    log(`wrote ${layout}`);
  }
  const sbom = join(folder, "root", APP, "sbom.cdx.json");
  const signing = composeSigning({
    image,
    others: [scanner, ...charts],
    sbom,
    key: options.key,
    isPlainHttp,
  });
  writeFileSync(join(folder, "signing.sh"), `${signing.map((words) => words.join(" ")).join("\n")}\n`);
  if (signs) {
    for (const [command = "", ...args] of signing) {
      await run(command, args);
      log(`${command} ${args[0]} ${args.at(-1)}: done`);
    }
  } else log(`not signed: the commands are in ${join(folder, "signing.sh")}`);
  return { version, image, scanner, charts, signing };
}

interface Pushed {
  name: ImageName;
  /** With registry and path, without a tag. */
  image: string;
  version: string;
  base: string;
  insecure: readonly string[];
  layersOf(architecture: Architecture): string[];
  log(line: string): void;
}

/** Pushes an image for each platform and an index of them; returns the index by its digest. */
async function pushImage({ name, image, version, base, insecure, layersOf, log }: Pushed): Promise<string> {
  const parts: string[] = [];
  for (const architecture of ARCHITECTURES) {
    const layers = layersOf(architecture).flatMap((layer) => ["--new_layer", layer]);
    const tag = `${image}:${version}-${architecture}`;
    const onto = ["--platform", `linux/${architecture}`, "--base", base];
    await run("crane", ["append", ...insecure, ...onto, ...layers, "--new_tag", tag]);
    parts.push(
      await run("crane", ["mutate", ...insecure, ...describeImage(name, version), "--tag", tag, tag]),
    );
    log(`pushed ${parts.at(-1)}`);
  }
  // An index alone, from none: that of the base would bring its other platforms along.
  const manifests = parts.flatMap((part) => ["--manifest", part]);
  await run("crane", ["index", "append", ...insecure, ...manifests, "--tag", `${image}:${version}`]);
  const digest = await run("crane", ["digest", ...insecure, `${image}:${version}`]);
  log(`pushed ${image}:${version}@${digest}`);
  return `${image}@${digest}`;
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

/** The section of a version in the changelog. Throws when there is none. */
export function findNotes(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m);
  const found = sections.find((section) => section.startsWith(`## ${version}\n`));
  if (found === undefined) throw new Error(`CHANGELOG.md has no section ## ${version}`);
  return found;
}

function requireVersion(chart: string, version: string, name: string): void {
  const found = /^version: (.*)$/m.exec(chart)?.[1];
  if (found !== version)
    throw new Error(`the chart ${name} has version ${found}, package.json ${version}: npm run generate`);
}

/** What is signed, by digest, and how. */
interface Signed {
  image: string;
  others: readonly string[];
  /** Path of the list of libraries of the image. */
  sbom: string;
  key?: string | undefined;
  isPlainHttp: boolean;
}

/**
 * Signatures of images and charts, and the list of libraries as an attestation of the image. Without a key cosign has its public
 * authority confirm who signs, and publishes that; with one nothing leaves for anywhere but the registry.
 */
export function composeSigning({ image, others, sbom, key, isPlainHttp }: Signed): string[][] {
  const by = [
    ...(key === undefined ? [] : ["--key", key, "--use-signing-config=false", "--tlog-upload=false"]),
    ...(isPlainHttp ? ["--allow-http-registry"] : []),
  ];
  return [
    ...[image, ...others].map((name) => ["cosign", "sign", "--yes", ...by, "--recursive", name]),
    ["cosign", "attest", "--yes", ...by, "--type", "cyclonedx", "--predicate", sbom, image],
  ];
}

/** As the target of this name in the Dockerfile. */
function describeImage(name: ImageName, version: string): string[] {
  const { command, description } = IMAGES[name];
  const labels = {
    title: name,
    description,
    licenses: "Apache-2.0",
    url: "https://marina.dev",
    version,
  };
  return [
    ...["--entrypoint", "node", "--cmd", command, "--workdir", `/${APP}`, "--user", "65532:65532"],
    ...["--env", "NODE_ENV=production"],
    ...["--env", "PATH=/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    ...Object.entries(labels).flatMap(([label, value]) => [
      "--label",
      `org.opencontainers.image.${label}=${value}`,
    ]),
  ];
}

if (import.meta.main) {
  const { values } = readOptions({
    options: {
      registry: { type: "string" },
      base: { type: "string", default: BASE },
      sign: { type: "boolean", default: false },
      key: { type: "string" },
      "plain-http": { type: "boolean", default: false },
    },
  });
  const { registry, base, sign, key } = values;
  if (registry === undefined)
    throw new Error(
      "usage: npm run release -- --registry REGISTRY [--base IMAGE] [--sign [--key KEY]] [--plain-http]",
    );
  const progress = createProgress(process.stdout);
  let last = "releasing";
  const releasing = release({
    registry,
    base,
    signs: sign,
    ...(key === undefined ? {} : { key }),
    isPlainHttp: values["plain-http"],
    log(line) {
      last = line;
      progress.line(line);
    },
  });
  const { version } = await reportWhile(progress, () => `still at work; last: ${last}`, releasing);
  progress.line(
    `released ${version}; next: helm install marina oci://${registry}/charts/marina --version ${version}`,
  );
}
