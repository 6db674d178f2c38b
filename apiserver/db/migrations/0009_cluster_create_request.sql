ALTER TABLE "cluster_intents" RENAME COLUMN "wish" TO "request";
