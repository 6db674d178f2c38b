import { createObjectStore } from "./objects/object-store.ts";

/**
 * Prints the milliseconds of CPU that one presigned upload and one presigned download take; `npm run bench support`
 * runs it.
 */
const WARM_UP = 500;
const COUNT = 2000;
const DAY_SECONDS = 86_400;

const store = createObjectStore(
  {
    endpoint: "https://objects.example.com",
    region: "us-east-1",
    bucket: "attachments",
    pathStyle: true,
    credentials: { accessKeyId: "key", secretAccessKey: "secret" },
  },
  () => new Date(),
);
const terms = { contentType: "image/png", sizeBytes: 1000, sha256: "0".repeat(64) };

async function measure(sign: (key: string) => Promise<unknown>): Promise<number> {
  for (let n = 0; n < WARM_UP; n++) await sign(`warm-up/${n}`);
  const before = process.cpuUsage();
  for (let n = 0; n < COUNT; n++) await sign(`measured/${n}`);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / COUNT;
}

const uploadMs = await measure((key) => store.signUpload(key, terms, DAY_SECONDS));
const downloadMs = await measure((key) => store.signDownload(key, "attachment", DAY_SECONDS));
process.stdout.write(JSON.stringify({ uploadMs, downloadMs }));
