/** A folder or file of this machine at a path of the container. */
export interface Mount {
  source: string;
  target: string;
  readOnly: boolean;
  isFile?: boolean;
}

export interface Sandbox {
  /** An empty folder of this machine: there the process, and no other process, sees the root of the container. */
  root: string;
  /** The node binary of the base image. */
  nodeBinary: string;
  mounts: readonly Mount[];
  uid: number;
  gid: number;
  workingDir: string;
  command: readonly string[];
}

/** Variables of the base image. */
export const BASE_ENVIRONMENT = {
  NODE_ENV: "production",
  PATH: "/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
};

const DEVICES = ["full", "null", "random", "urandom", "zero"];
/** Programs of this machine that start the one of the container. */
const STARTERS = "/.start";

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The libraries of this machine stand for those of the base image. */
function baseMounts(nodeBinary: string): Mount[] {
  const file = (source: string, target: string): Mount => ({ source, target, readOnly: true, isFile: true });
  return [
    { source: "/usr/lib", target: "/usr/lib", readOnly: true },
    { source: "/usr/lib64", target: "/usr/lib64", readOnly: true },
    { source: "/proc", target: "/proc", readOnly: false },
    ...DEVICES.map((name) => ({ ...file(`/dev/${name}`, `/dev/${name}`), readOnly: false })),
    file(nodeBinary, "/nodejs/bin/node"),
    file("/usr/bin/env", `${STARTERS}/env`),
    file("/usr/bin/setpriv", `${STARTERS}/setpriv`),
  ];
}

/** One mount as a line of shell; its target is made in the root, which is still writable. */
function mountLine({ source, target, readOnly, isFile }: Mount): string {
  const place = `"$root"${quote(target)}`;
  const make = isFile === true ? `mkdir -p "$(dirname ${place})"; : > ${place}` : `mkdir -p ${place}`;
  return `${make}; mount --bind ${readOnly ? "-o ro " : ""}${quote(source)} ${place}`;
}

/**
 * The command line that runs a container's process in a separate mount namespace. Its root holds the libraries of this
 * machine, node, the mounts and nothing else, read-only; the process has another user and no right. It keeps the pid of
 * the command, and dies with the process that started it.
 */
export function composeSandboxCommand(sandbox: Sandbox): string[] {
  const { root, nodeBinary, mounts, uid, gid, workingDir, command } = sandbox;
  const user = `--reuid=${uid} --regid=${gid} --clear-groups --no-new-privs --pdeathsig=SIGKILL`;
  const outerFirst = mounts.toSorted((a, b) => a.target.length - b.target.length);
  const script = [
    `root=${quote(root)}`,
    'mount -t tmpfs -o mode=755,size=1m tmpfs "$root"',
    'mkdir -p "$root/usr" "$root/tmp"; ln -s usr/lib "$root/lib"; ln -s usr/lib64 "$root/lib64"',
    ...[...baseMounts(nodeBinary), ...outerFirst].map(mountLine),
    'mount -o remount,ro "$root"',
    `exec chroot "$root" ${STARTERS}/env --chdir=${quote(workingDir)} ${STARTERS}/setpriv ${user} -- ${command.map(quote).join(" ")}`,
  ].join("\n");
  return ["unshare", "--mount", "--propagation", "private", "--", "sh", "-euc", script];
}

/** The command line that runs a program inside a container whose process is `pid`, as kubelet does for `exec`. */
export function composeExecCommand(
  pid: number,
  { uid, gid }: { uid: number; gid: number },
  command: readonly string[],
): string[] {
  const target = [`--target=${pid}`, "--mount", "--root", "--wd"];
  return ["nsenter", ...target, `--setuid=${uid}`, `--setgid=${gid}`, "--", ...command];
}
