import { afterAll } from "vitest";
import { readStack } from "../platform/stack/testing.ts";
import { deleteLeftClusters } from "./left-clusters.ts";

afterAll(() => deleteLeftClusters(readStack().kubeconfig));
