import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Client, runCommand } from "./client.ts";
import { generateClient, PROGRAMS } from "./openapi-generator.ts";

const COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";
/** Unknown values of an enum and unknown fields are accepted: the document asks clients to ignore what they do not know. */
const PROPERTIES = [
  "invokerPackage=dev.marina.client",
  "apiPackage=dev.marina.client.api",
  "modelPackage=dev.marina.client.model",
  "openApiNullable=false",
  "useJakartaEe=true",
  "enumUnknownDefaultCase=true",
  "disallowAdditionalPropertiesIfNotPresent=false",
];

/**
 * openapi-generator's Java client as it is by itself, with OkHttp and Gson, whose jars its pom.xml names. That of its
 * library `native` does not compile where a value may be a list or an object.
 */
export const java: Client = {
  name: "java",
  async prepare(folder) {
    await generateClient("java", folder, [`--additional-properties=${PROPERTIES.join(",")}`]);
    const [jars, classes] = [join(folder, "jars"), join(folder, "classes")];
    await runCommand("mvn", ["-q", "-B", COPY_GOAL, `-DoutputDirectory=${jars}`, "-DincludeScope=compile"], {
      cwd: folder,
    });
    const sources = join(folder, "src", "main", "java");
    cpSync(join(PROGRAMS, "Story.java"), join(sources, "Story.java"));
    mkdirSync(classes);
    const classpath = [classes, join(jars, "*")].join(delimiter);
    await runCommand("javac", ["-nowarn", "-d", classes, "-cp", classpath, ...listSources(sources)]);
    return { command: "java", args: ["-cp", classpath, "Story"] };
  },
};

function listSources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".java"))
    .map((name) => join(folder, name));
}
