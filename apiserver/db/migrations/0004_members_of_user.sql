DROP INDEX "members_user";--> statement-breakpoint
CREATE INDEX "members_user" ON "members" USING btree ("user_id","org_id");