import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createServerCertificate } from "../stack/certificates.ts";
import { ROOT } from "../stack/marina.ts";
import { ensureSecrets } from "../stack/secrets.ts";
import { requireCommand } from "./run-command.ts";
import { IDENTITY_HOST, type KeptSettings, type KindSettings } from "./settings.ts";

const IMAGE = "marina/marina";
/** Length of the prefix of the image's id: enough to distinguish the images of one checkout. */
const TAG_LENGTH = 12;

/** Reads what the run directory keeps; makes it at the first run. */
export async function readKeptSettings(dir: string): Promise<KeptSettings> {
  mkdirSync(dir, { recursive: true });
  return {
    dir,
    secrets: await ensureSecrets(dir),
    certificates: await ensureCertificate(join(dir, "identity.json")),
  };
}

/** Builds the image of this checkout. */
export async function readSettings(dir: string): Promise<KindSettings> {
  return {
    ...(await readKeptSettings(dir)),
    imageTag: await buildImage(),
    chartDigests: { marina: digestChart("marina"), "marina-classes": digestChart("marina-classes") },
  };
}

async function ensureCertificate(file: string): Promise<KeptSettings["certificates"]> {
  if (!existsSync(file))
    writeFileSync(file, JSON.stringify(await createServerCertificate(IDENTITY_HOST)), { mode: 0o600 });
  return JSON.parse(readFileSync(file, "utf8"));
}

/** Its tag follows from its content, so that an unchanged checkout installs nothing again. */
async function buildImage(): Promise<string> {
  await requireCommand({ program: "docker", args: ["build", `--tag=${IMAGE}:kind`, "."] });
  const inspect = ["image", "inspect", "--format={{.Id}}", `${IMAGE}:kind`];
  const id = await requireCommand({ program: "docker", args: inspect });
  const tag = id.trim().replace("sha256:", "").slice(0, TAG_LENGTH);
  await requireCommand({ program: "docker", args: ["tag", `${IMAGE}:kind`, `${IMAGE}:${tag}`] });
  return tag;
}

/** Digest of all files of a chart. */
function digestChart(name: string): string {
  const hash = createHash("sha256");
  const files = readdirSync(join(ROOT, "charts", name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name: file }) => join(parentPath, file));
  for (const file of files.sort()) hash.update(file.slice(ROOT.length)).update(readFileSync(file));
  return hash.digest("hex").slice(0, TAG_LENGTH);
}
