import { join } from "node:path";
import { buildPrograms, ldflagsFor } from "../programs/go-build.ts";
import type { Config } from "./config.ts";

/** The path of the kube-apiserver that reports `version` (with `v`), whether or not it is built yet. */
export function apiserverPath({ folder }: Config["apiserverBuild"], version: string): string {
  return join(folder, fileNameOf(version));
}

function fileNameOf(version: string): string {
  return `kube-apiserver-${version}`;
}

/**
 * Links the kube-apiserver of go.mod so that it reports `version` (with `v`) and emulates that minor: seconds with the
 * build cache of the first build. The code stays that of go.mod, and emulation reaches three minors back.
 */
export function linkApiserver(build: Config["apiserverBuild"], version: string): Promise<void> {
  return buildPrograms({
    dir: build.folder,
    packages: { [fileNameOf(version)]: build.goPackage },
    moduleDir: build.goModuleDir,
    ldflags: ldflagsFor(version),
  });
}
