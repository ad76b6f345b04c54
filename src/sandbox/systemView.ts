import { lstat, readlink, realpath, stat } from "node:fs/promises";

/**
 * A sandbox has its own processes, IPC and host name, and no way to more rights or to the portal's terminal.
 * It ends with the portal, however that ends. It shares the machine's network.
 */
export const isolation: readonly string[] = [
  "--die-with-parent",
  "--new-session",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-cgroup-try",
  "--cap-drop",
  "ALL",
];

/**
 * Encloses a whole sandbox. A program inside can debug the sandbox's first process and so survive the portal. It cannot
 * see this outer PID namespace, and the kernel ends everything in it at once.
 */
export const keeper: readonly string[] = [
  "--die-with-parent",
  "--unshare-pid",
  ...["--dev-bind", "/", "/"],
  "--",
];

/** The system's programs and settings, all read-only. */
const systemFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"];

/** Only root can read these, and the portal may run as root. */
const hiddenFiles = ["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers"];
const hiddenFolders = ["/etc/ssh", "/etc/sudoers.d", "/etc/ssl/private"];

/** Kernel settings, which root could change without any capability: `core_pattern` names a program to run. */
const kernelSettings = ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr"];

const resolver = "/etc/resolv.conf";

/** These lead to services outside: the user's session, key agents, the screen. */
const doors = [
  "DBUS_SESSION_BUS_ADDRESS",
  "DBUS_SYSTEM_BUS_ADDRESS",
  "SSH_AUTH_SOCK",
  "GPG_AGENT_INFO",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
  "DOCKER_HOST",
];
/** These name hidden folders; without them, programs use the home folder and /tmp. */
const places = [
  "XDG_RUNTIME_DIR",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_STATE_HOME",
  "XDG_CACHE_HOME",
  "TMPDIR",
  "TEMP",
  "TMP",
];

export async function systemMounts(): Promise<string[]> {
  const system = await Promise.all(systemFolders.map(mountOf));
  const files = await existing(hiddenFiles);
  const folders = await existing(hiddenFolders);
  return [
    ...system.flat(),
    ...files.flatMap(path => ["--ro-bind", "/dev/null", path]),
    ...folders.flatMap(path => ["--tmpfs", path, "--remount-ro", path]),
    ...(await resolverMount()),
    ...["--proc", "/proc"],
    ...kernelSettings.flatMap(name => ["--ro-bind-try", `/proc/${name}`, `/proc/${name}`]),
    ...["--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/var/tmp", "--dir", "/run"],
    ...[...doors, ...places].flatMap(name => ["--unsetenv", name]),
  ];
}

/** Where /bin is a link to /usr/bin, it is a link in the sandbox too. */
async function mountOf(path: string): Promise<string[]> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return [];
  return found.isSymbolicLink() ? ["--symlink", await readlink(path), path] : ["--ro-bind", path, path];
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map(path => stat(path).catch(() => undefined)));
  return paths.filter((_, index) => found[index] !== undefined);
}

/** The file that configures name lookup is often a link into /run, which is hidden. */
async function resolverMount(): Promise<string[]> {
  const real = await realpath(resolver).catch(() => resolver);
  return real === resolver ? [] : ["--ro-bind-try", real, real];
}
