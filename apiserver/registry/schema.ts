import { z } from "@hono/zod-openapi";
import { countField, textField, timestampField } from "../http/contract/fields.ts";
import { MAX_REPOSITORY_LENGTH, MAX_TAG_LENGTH, MAX_TAGS, namePageSchema } from "./names.ts";
import { MAX_LINKS, MAX_TEXT_LENGTHS, MAX_VULNERABILITIES, SEVERITIES } from "./report.ts";

const MAX_COUNT = 1_000_000;
const MAX_INT32 = 2_147_483_647;
const DIGEST_LENGTH = 71;
const EXAMPLE_DIGEST = `sha256:${"4b".repeat(32)}`;

const EXAMPLE_REPOSITORY = {
  name: "web",
  image: "registry.example.com/org-0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11/web",
};

const repositoryShape = {
  name: textField(MAX_REPOSITORY_LENGTH, "The name below the organization's prefix.", "web"),
  image: textField(
    512,
    "What `docker push` and `docker pull` take, without a tag.",
    "registry.example.com/org-0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11/web",
  ),
};

export const repositoryRecord = z
  .object(repositoryShape)
  .openapi("Repository", { example: EXAMPLE_REPOSITORY });
export const repositoryDetail = z
  .object({
    ...repositoryShape,
    tag_count: countField(MAX_TAGS, "Tags of the repository; more are not counted.", 3),
  })
  .openapi("RepositoryDetail", { example: { ...EXAMPLE_REPOSITORY, tag_count: 3 } });
export const repositoryPage = namePageSchema(repositoryRecord, "RepositoryPage");

const bytesField = (description: string, example: number) =>
  z.int().min(0).max(Number.MAX_SAFE_INTEGER).openapi({ format: "int64", description, example });

export const tagRecord = z
  .object({
    name: textField(MAX_TAG_LENGTH, "The tag.", "v1.4.2"),
    digest: textField(DIGEST_LENGTH, "The image or the index of images that it names.", EXAMPLE_DIGEST),
    media_type: textField(255, "Of the manifest.", "application/vnd.oci.image.manifest.v1+json"),
    size_bytes: bytesField(
      "Bytes of the image as it is stored, each layer once; of an index, of all its images.",
      52_428_800,
    ),
  })
  .openapi("RepositoryTag", {
    example: {
      name: "v1.4.2",
      digest: EXAMPLE_DIGEST,
      media_type: "application/vnd.oci.image.manifest.v1+json",
      size_bytes: 52_428_800,
    },
  });
export const tagPage = namePageSchema(tagRecord, "RepositoryTagPage");

const severityField = z.enum(SEVERITIES);

const vulnerabilityRecord = z
  .object({
    ID: textField(MAX_TEXT_LENGTHS.id, "As the source names it.", "CVE-2024-3094"),
    Package: textField(MAX_TEXT_LENGTHS.name, "The package that has it.", "liblzma5"),
    Version: textField(MAX_TEXT_LENGTHS.name, "Of the package in the image.", "5.6.0-1"),
    FixVersion: textField(
      MAX_TEXT_LENGTHS.name,
      "The first version without it; empty when none is known.",
      "5.6.1+really5.4.5-1",
    ),
    Severity: severityField.openapi({ description: "Negligible counts as Low." }),
    Description: textField(MAX_TEXT_LENGTHS.description, "What it is; cut after 2,000 characters."),
    Links: z
      .array(textField(MAX_TEXT_LENGTHS.link, "An address."))
      .max(MAX_LINKS)
      .openapi({ description: "Where more is said of it." }),
  })
  .openapi("Vulnerability");

const scanShape = {
  Status: z.enum(["NotScanned", "Pending", "Running", "Success", "Error", "Unsupported"]).openapi({
    description:
      "NotScanned: no scan was requested, or the vulnerabilities gave way to those of images in later use. Unsupported: the tag names something that is no image.",
  }),
  ScannedAt: timestampField("When the last scan finished; left out until one has.").optional(),
  Summary: z
    .object({
      Critical: countField(MAX_COUNT, "Of this severity.", 1),
      High: countField(MAX_COUNT, "Of this severity.", 3),
      Medium: countField(MAX_COUNT, "Of this severity.", 12),
      Low: countField(MAX_COUNT, "Of this severity.", 40),
      Unknown: countField(MAX_COUNT, "Of this severity.", 0),
    })
    .openapi("VulnerabilitySummary", {
      description: "What the last finished scan counted; zeros without one.",
    }),
};

/** A scan that was requested: its vulnerabilities are read where the header Location says. */
export const requestedScanRecord = z.object(scanShape).openapi("RequestedScan", {
  example: { Status: "Pending", Summary: { Critical: 0, High: 0, Medium: 0, Low: 0, Unknown: 0 } },
});

export const scanRecord = z
  .object({
    ...scanShape,
    Vulnerabilities: z
      .array(vulnerabilityRecord)
      .max(MAX_VULNERABILITIES)
      .openapi({
        description: `What the last finished scan found, the worst first; at most ${MAX_VULNERABILITIES}, and of 8 MiB, while Summary counts all.`,
      }),
  })
  .openapi("ScanResult", {
    example: {
      Status: "Success",
      ScannedAt: "2026-11-21T09:00:00.000Z",
      Summary: { Critical: 1, High: 0, Medium: 0, Low: 0, Unknown: 0 },
      Vulnerabilities: [
        {
          ID: "CVE-2024-3094",
          Package: "liblzma5",
          Version: "5.6.0-1",
          FixVersion: "5.6.1+really5.4.5-1",
          Severity: "Critical",
          Description: "Malicious code was discovered in the upstream tarballs of xz.",
          Links: ["https://security-tracker.debian.org/tracker/CVE-2024-3094"],
        },
      ],
    },
  });

const EXAMPLE_USAGE = {
  stored_bytes: 5_368_709_120,
  tag_count: 42,
  measured_at: "2026-11-21T09:00:00.000Z",
  pushed_bytes: 52_428_800,
  limit_bytes: 107_374_182_400,
  limit_tags: 10_000,
};

export const registryUsageRecord = z
  .object({
    stored_bytes: bytesField(
      "Bytes of the blobs of all tagged images, each once; this is billed.",
      EXAMPLE_USAGE.stored_bytes,
    ),
    tag_count: countField(MAX_INT32, "Tags of all repositories.", EXAMPLE_USAGE.tag_count),
    measured_at: timestampField("When both were measured; null before the first time.").nullable(),
    pushed_bytes: bytesField(
      "Bytes that were pushed since then; not billed yet.",
      EXAMPLE_USAGE.pushed_bytes,
    ),
    limit_bytes: bytesField(
      "Nothing can be pushed once stored and pushed bytes are as many; null: no limit.",
      EXAMPLE_USAGE.limit_bytes,
    ).nullable(),
    limit_tags: countField(MAX_INT32, "The same for tags.", EXAMPLE_USAGE.limit_tags).nullable(),
  })
  .openapi("RegistryUsage", { example: EXAMPLE_USAGE });
